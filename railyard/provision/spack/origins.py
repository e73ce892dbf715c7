"""Where each package of an environment comes from: built here, from a build cache, an upstream, or the site's own."""

import os
from collections.abc import Mapping
from pathlib import Path

from railyard.provision.spack.marker import BUILT, CACHED, EXTERNAL, UPSTREAM

#: What Spack has in each install tree, and in the prefix of each package that it took from a build cache
#: (spack.database and spack.binary_distribution of 1.2).
DATABASE = Path(".spack-db", "index.json")
OF_A_CACHE = Path(".spack", "binary_distribution")


def find_origin(prefix: str, external: bool, upstreams: Mapping[str, str], own: str | None) -> str:
    """Return where an installed package comes from, by its prefix.

    ``upstreams`` are the install trees of the site's upstreams by name, ``own`` is this environment's. A tree that no
    file names, such as one that Spack's own configuration has, is an upstream with the name of its folder. If ``own``
    is None, only named upstreams can be told apart.
    """
    if external:
        return EXTERNAL
    there = Path(os.path.realpath(prefix))
    for name, tree in upstreams.items():
        if there.is_relative_to(os.path.realpath(tree)):
            return f"{UPSTREAM} {name}"
    if own is not None and not there.is_relative_to(os.path.realpath(own)):
        tree = next((str(folder) for folder in there.parents if os.path.isfile(folder / DATABASE)), str(there.parent))
        return f"{UPSTREAM} {tree}"
    return CACHED if os.path.isfile(there / OF_A_CACHE) else BUILT
