"""The stacks, a family a module: each module has its stacks by name in ``STACKS``, and ``table.py`` finds it there."""
