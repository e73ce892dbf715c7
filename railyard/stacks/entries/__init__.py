"""The stacks, one family per module. Each has its stacks by name in ``STACKS``, and ``table.py`` finds them there."""
