"""Replay: the checks run through a real ReFrame, with outputs played from ``recordings/`` in place of a benchmark."""
