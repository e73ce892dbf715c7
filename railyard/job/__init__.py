"""What runs on nodes: the words of a launch, scripts, and functions that read their files."""
