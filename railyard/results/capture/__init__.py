"""References made from stored runs: which runs serve, how far they spread, the entry, and its place in the file."""
