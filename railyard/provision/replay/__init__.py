"""Replay: the checks run through a real ReFrame, but play outputs from ``recordings/`` in place of a benchmark."""
