"""What applications are given, what they must move, and what their figures may be. No ReFrame, no files."""
