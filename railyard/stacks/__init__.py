"""How each MPI stack is told fabric, devices, rails and rail policy: one table, and the questions asked of it.

A new stack is one entry in ``table.py`` (its ways in a module of its family) and one folder in ``spack_envs/``.
"""
