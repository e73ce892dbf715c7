"""Compares two sets of results: how far they differ, at which sizes, and how much of it may be noise."""
