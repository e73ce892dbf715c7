"""Writes what a node, its scheduler and its software say about themselves as a system's file to review."""
