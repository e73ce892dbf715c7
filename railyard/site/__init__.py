"""What people write: systems and references, and the matrix that follows from them."""
