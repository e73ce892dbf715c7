"""The bases of all checks, and the parts that they are made of."""
