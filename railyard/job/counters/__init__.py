"""What the counter reader wrote on each node, as typed values."""
