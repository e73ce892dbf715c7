"""How to tell each MPI stack its fabric, devices, rails and rail policy: one table, and functions that look things up.

A new stack is one module in ``entries/`` and one folder in ``spack_envs/``.
"""

from typing import Any

from railyard.base.old_addresses import former


def __getattr__(name: str) -> Any:
    # A site's own checks imported these names from here. They are in the modules of this package now.
    return former(__name__, name)
