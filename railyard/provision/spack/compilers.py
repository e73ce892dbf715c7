"""What a build needs on this host: the compilers that the site names, or one on PATH, and the stack's own MPI."""

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from railyard.base.errors import InputError, SetupError
from railyard.base.model_errors import Path_
from railyard.base.strict_yaml import Document
from railyard.provision.spack import overlay
from railyard.provision.spack.request import Request
from railyard.provision.spack.sources import Sources
from railyard.stacks.table import STACKS

#: C compilers that Spack finds on PATH by itself (spack-packages: gcc, llvm, intel-oneapi-compilers, nvhpc, aocc, cce,
#: fj).
C_COMPILERS = ("gcc", "clang", "icx", "nvc", "craycc", "fcc")


def demand(request: Request) -> None:
    """Raise InputError if a compiler, or the MPI that a file names for this stack, is not there.

    Raises SetupError if no file names a compiler and none is on PATH.
    """
    sources = request.sources()
    for found in _missing_compilers(request, sources):
        raise found
    if not any(True for _ in _compilers(sources)) and not any(shutil.which(name) for name in C_COMPILERS):
        raise SetupError(
            f"compiler: found none of {', '.join(C_COMPILERS)} on PATH, expected a compiler to build with; "
            f"install gcc, or name a compiler in {_overlay_path(request)} (docs/howto/spack.md, Your own compiler)"
        )


def _missing_compilers(request: Request, sources: Sources) -> Iterator[InputError]:
    for document, place, path in _compilers(sources):
        program = path.replace(overlay.HOME, str(request.home))
        if not os.access(program, os.X_OK):
            yield document.error(
                place, f'"{program}", which is not there', "a compiler of this host",
                "install it (on Debian: make needs SPACK=1), or correct the file",
            )  # fmt: skip
    stack = STACKS.get(request.stack)
    mpi = stack.spack_package if stack is not None else None
    for document in sources.documents:
        for index, external in enumerate(_externals(document, mpi)):
            prefix = str(external.get("prefix", "")).replace(overlay.HOME, str(request.home))
            if prefix and not Path(prefix).is_dir():
                yield document.error(
                    ("packages", str(mpi), "externals", index, "prefix"), f'"{prefix}", which is not there',
                    f"the MPI that {request.stack} is built with", _how_to_get(request, prefix),
                )  # fmt: skip


def _compilers(sources: Sources) -> Iterator[tuple[Document, Path_, str]]:
    """Yield each compiler that a file names: the file, the place in it, and the path."""
    for document in sources.documents:
        packages = document.data.get("packages")
        for name in packages if isinstance(packages, Mapping) else ():
            for index, external in enumerate(_externals(document, str(name))):
                named = (external.get("extra_attributes") or {}).get("compilers") or {}
                for language, path in named.items():
                    place = ("packages", str(name), "externals", index, "extra_attributes", "compilers", str(language))
                    yield document, place, str(path)


def _externals(document: Document, package: str | None) -> list[Mapping[str, Any]]:
    packages = document.data.get("packages")
    entry = packages.get(package) if isinstance(packages, Mapping) else None
    return list(entry.get("externals") or ()) if isinstance(entry, Mapping) else []


def _how_to_get(request: Request, prefix: str) -> str:
    if prefix == str(request.home / ".stacks" / request.stack):
        return f"type: railyard stacks install {request.stack}"
    return "install it there, or correct the file"


def _overlay_path(request: Request) -> str:
    return overlay.short_path(overlay.overlay_file(request.home, request.system))
