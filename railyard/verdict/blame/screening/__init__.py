"""A sample of all pairs of nodes within a budget: whom it names, what it covered, and what it would have found."""
