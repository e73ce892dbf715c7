"""The verdict of a stored output, without the run that gave it."""
