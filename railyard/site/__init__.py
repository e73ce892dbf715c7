"""What a person writes: systems, references, and the matrix that follows from them."""
