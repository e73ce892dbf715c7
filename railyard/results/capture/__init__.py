"""References made from stored runs: which runs are used, how far they spread, the entry, and its place in the file."""
