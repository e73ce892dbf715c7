"""Likely causes of a failed curve, seen in its shape."""
