"""Tests pairs of nodes in groups, one job per group, as nodes come free; judges all groups together."""
