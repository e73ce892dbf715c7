"""Likely causes of a curve that failed, read off its shape."""
