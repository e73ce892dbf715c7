"""Two sets of results held against each other: how far they differ, where along the sizes, and what noise allows."""
