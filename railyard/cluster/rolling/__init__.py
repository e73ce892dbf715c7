"""Pairs of nodes in groups, a job a group, each as its nodes come free; and what all groups together say."""
