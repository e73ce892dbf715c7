"""How each MPI stack is told fabric, devices, rails and rail policy: one table, and the questions asked of it.

A new stack is one module in ``entries/`` and one folder in ``spack_envs/``.
"""
