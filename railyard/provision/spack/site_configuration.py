"""Spack configuration that a site has already: files that its overlay includes, and the scopes of user and host.

It is the weakest: what Railyard's environments and the overlay say wins. It adds what they leave open, such as
externals, so its content belongs to the key of an environment and to each record.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from railyard.base.errors import InputError
from railyard.base.paths import state_folder
from railyard.base.strict_yaml import Document, load_foreign

#: Scope -> the variable that names its folder, and the folder without it (Spack 1.2: etc/spack/include.yaml).
SCOPES: Mapping[str, tuple[str, str]] = {
    "user": ("SPACK_USER_CONFIG_PATH", "~/.spack"),
    "system": ("SPACK_SYSTEM_CONFIG_PATH", "/etc/spack"),
}
#: With it Spack reads neither scope.
ALONE = {"SPACK_DISABLE_LOCAL_CONFIG": "1"}
_NESTED, _ENVIRONMENT = "include", "spack"


@dataclass(frozen=True, slots=True)
class SiteFile:
    """A file of the site's own configuration. ``scope`` is ``user`` or ``system``; None: the overlay includes it."""

    path: Path
    document: Document
    content: bytes
    scope: str | None = None

    def __str__(self) -> str:
        how = "included" if self.scope is None else f"scope {self.scope}"
        return f"{self.path} ({how}, sha256 {hashlib.sha256(self.content).hexdigest()[:16]})"


def read_files(path: Path, scope: str | None = None) -> tuple[SiteFile, ...]:
    """Return a file, or the configuration files of a folder.

    Raises InputError for one that names further files, and for an environment.
    """
    files = [path] if path.is_file() else sorted((*path.glob("*.yaml"), *path.glob("linux/*.yaml")))
    found = tuple(SiteFile(file, load_foreign(file), file.read_bytes(), scope) for file in files)
    for each in found:
        for section in map(str, each.document.data):
            # Two colons: Spack lets this section replace those of other files.
            if section.rstrip(":") == _NESTED:
                raise each.document.error(
                    (section,), "further files", "a file that includes no others, since those would be in no record",
                    "name them under include of the system's overlay",
                )  # fmt: skip
            if section.rstrip(":") == _ENVIRONMENT:
                raise each.document.error(
                    (section,), "an environment, which may have specs and further files",
                    "a file with sections of Spack's configuration, such as packages", "write those into a file",
                )  # fmt: skip
    return found


def read_scopes(scopes: Sequence[str]) -> tuple[SiteFile, ...]:
    """Return the files of these scopes, the strongest first; a scope without a folder has none. Raises InputError."""
    return tuple(file for name in SCOPES if name in scopes for file in _of_scope(name))


def _of_scope(name: str) -> Iterator[SiteFile]:
    folder = scope_folder(name)
    try:
        yield from read_files(folder, name)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise InputError(str(error.filename or folder), f"a file that cannot be read ({why})", "a YAML file") from None


def scope_folder(name: str) -> Path:
    """Return the folder of a scope, as Spack finds it."""
    variable, place = SCOPES[name]
    return Path(os.environ.get(variable) or place).expanduser()


def variables(home: Path, scopes: Sequence[str]) -> dict[str, str]:
    """Return the variables with which Spack reads these scopes of its local configuration and no others."""
    if not scopes:
        return ALONE
    nowhere = str(state_folder(home) / "no-configuration")
    return {SCOPES[name][0]: str(scope_folder(name)) if name in scopes else nowhere for name in SCOPES}
