"""How each MPI stack is told fabric, devices, rails and rail policy: one table, and the questions asked of it.

A new stack is one module in ``entries/`` and one folder in ``spack_envs/``.
"""

from typing import Any

from railyard.base.moved import former


def __getattr__(name: str) -> Any:
    # What a site's own checks imported from here: the modules of the package have it.
    return former(__name__, name)
