"""Figures over time: where each changed its level, how sure that is, and what else changed at that time."""
