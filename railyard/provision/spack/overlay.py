"""A system's overlay: Spack configuration that is added to every stack's environment and never replaces any of it.

One value a site may choose: whether packages that are installed already are used (``concretizer: reuse``).

Spack configuration that a site has already: files that its overlay includes, and the scopes of user and host.

It is the weakest: what Railyard's environments and the overlay say wins. It adds what they leave open, such as
externals, so its content belongs to the key of an environment and to each record.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from railyard.base.errors import InputError, did_you_mean
from railyard.base.paths import state_folder, why_absent
from railyard.base.strict_yaml import Document, load, load_foreign
from railyard.base.values import Path_, show
from railyard.provision.spack.marker import DATABASE
from railyard.stacks.ask import variables_of_stack
from railyard.stacks.model import STACKS

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


#: Sections of Spack's configuration that a system may need to add to (spack.readthedocs.io, configuration).
SECTIONS = (
    *("packages", "mirrors", "config", "concretizer", "compilers", "modules", "repos", "toolchains"),
    *("upstreams", "include", "env_vars", "bootstrap"),
)
HOME = "{home}"
#: What an overlay may say otherwise than the environments. The lock then shows what was taken, and the record names it.
CHOICES: tuple[Path_, ...] = (("concretizer", "reuse"),)


class NotHereError(InputError):
    """What an overlay names is not on this host. It may be on the host that builds."""


def overlay_file(home: Path, system: str) -> Path:
    """Return the path of a system's overlay, whether it exists or not."""
    return home / "systems" / "spack" / f"{system}.yaml"


def read(path: Path) -> Document:
    """Return an overlay. Raises InputError for bad YAML, an unknown section, and a key that replaces (``::``)."""
    document = load(path, short_path(path))
    for section in document.data:
        name = str(section)
        if name.rstrip(":") not in SECTIONS:
            raise document.error(
                (name,), f"the section {show(name)}", "a section of Spack's configuration",
                did_you_mean(name.rstrip(":"), SECTIONS),
            )  # fmt: skip
    for place, _ in _leaves(document.data):
        key = next((part for part in place if isinstance(part, str) and part.endswith(":")), None)
        if key is not None:
            raise document.error(
                place[: place.index(key) + 1], f'"{key}:", which replaces what is there', "a key with one colon",
                "an overlay only adds",
            )  # fmt: skip
    refuse_run_variables(document)
    return document


def read_included(overlay: Document, home: Path) -> tuple[SiteFile, ...]:
    """Return the files of the site's own configuration that the overlay includes, in its order.

    A folder gives its files by section, as Spack reads it. Raises InputError for what is not a path on this host: of
    an address or a condition nobody could compare the content.
    """
    found: list[SiteFile] = []
    listed = overlay.data.get("include")
    if listed is not None and not isinstance(listed, list):
        raise overlay.error(("include",), show(listed), "a list of paths")
    for index, name in enumerate(listed or ()):
        place = ("include", index)
        text = name.replace(HOME, str(home)) if isinstance(name, str) else ""
        if not text.startswith("/") or "$" in text:
            expected = "the path of a file or a folder on this host, from / or {home} on"
            raise overlay.error(place, show(name), expected, "without variables, conditions or addresses")
        why = why_absent(text)
        files = read_files(Path(text)) if why is None else ()
        if not files:
            what = f"which {why or 'has no *.yaml'}"
            expected = "a file of Spack's configuration, or a folder of them"
            raise _absence_error(overlay.error(place, f"{text}, {what}", expected))
        found += files
    return tuple(found)


def refuse_absent_upstreams(overlay: Document, home: Path) -> None:
    """Raise InputError for an upstream that is no install tree of Spack here: Spack would only warn and use nothing."""
    section = overlay.data.get("upstreams")
    if section is not None and not isinstance(section, Mapping):
        raise overlay.error(("upstreams",), show(section), "names of upstreams, each with its install_tree")
    for name, entry in (section or {}).items():
        place: Path_ = ("upstreams", str(name))
        tree = entry.get("install_tree") if isinstance(entry, Mapping) else None
        if not isinstance(tree, str):
            raise overlay.error(place, show(entry), "install_tree: the folder where that Spack installs")
        path = tree.replace(HOME, str(home))
        if not path.startswith("/") or "$" in path:
            raise overlay.error((*place, "install_tree"), show(tree), "a path on this host, from / or {home} on")
        if not os.path.isfile(Path(path) / DATABASE):
            what = f"{path}, which {why_absent(path) or f'has no {DATABASE}'}"
            expected = "the install tree of a Spack that has installed something"
            action = "its own Spack prints it: spack config get config (install_tree: root)"
            raise _absence_error(overlay.error((*place, "install_tree"), what, expected, action))


def _absence_error(error: InputError) -> NotHereError:
    return NotHereError(error.file, error.found, error.expected, error.line, error.field, error.action)


def refuse_run_variables(overlay: Document) -> None:
    """Raise InputError for a variable of ``env_vars`` that decides how messages go: no run would have it.

    Spack sets these variables only in a shell that activates the environment.
    """
    known = {name for stack in STACKS for name in variables_of_stack(stack)}
    section = overlay.data.get("env_vars")
    for what, entry in section.items() if isinstance(section, Mapping) else ():
        for index, name in enumerate(entry if isinstance(entry, (list, Mapping)) else ()):
            if name in known or str(name).startswith(("LD_", "DYLD_")):
                place: Path_ = ("env_vars", str(what), index if isinstance(entry, list) else str(name))
                raise overlay.error(
                    place, f"{show(str(name))}, which decides how messages go", "it under env of the stack in the "
                    "system's file", "Spack sets env_vars only where a shell activates the environment, and no run does"
                )  # fmt: skip


def short_path(path: Path) -> str:
    """Return a file as errors name it: relative to the folder of its site."""
    parts = path.parts
    known = [index for index, part in enumerate(parts) if part in ("systems", "spack_envs")]
    return "/".join(parts[known[-1] :]) if known else str(path)


def refuse_conflicts(overlay: Document, others: tuple[Document, ...]) -> None:
    """Raise InputError if the overlay gives a value that an environment's file gives differently.

    Spack joins lists and merges mappings, but a single value of the overlay would silently replace the environment's.
    If both require a different version or target of a package, that is impossible and is refused here too.
    """
    for place, value in _leaves(overlay.data):
        for other in others:
            there = _value_at(other.data, place)
            if isinstance(value, list) and isinstance(there, list):
                if place[-1] == "require":
                    _refuse_two_requirements(overlay, other, place, value, there)
            elif there is not None and there != value and place not in CHOICES:
                found = f"{_format_value(value)}, but {other.file}:{other.line(place)} says {_format_value(there)}"
                raise overlay.error(
                    place, found, "what the environment leaves open", "an overlay only adds; change one of the two"
                )


def fill_home(document: Document, home: Path) -> dict[str, Any]:
    """Return the overlay's data with ``{home}``, the site folder, filled in."""
    return {str(key): _fill_home(value, str(home)) for key, value in document.data.items()}


def _fill_home(value: Any, home: str) -> Any:
    if isinstance(value, str):
        return value.replace(HOME, home)
    if isinstance(value, list):
        return [_fill_home(item, home) for item in value]
    if isinstance(value, Mapping):
        return {key: _fill_home(item, home) for key, item in value.items()}
    return value


def _format_value(value: Any) -> str:
    return f"[{', '.join(map(str, value))}]" if isinstance(value, list) else show(value)


def _leaves(data: Any, place: Path_ = ()) -> Iterator[tuple[Path_, Any]]:
    if isinstance(data, Mapping) and data:
        for key, value in data.items():
            yield from _leaves(value, (*place, str(key)))
    elif place:
        yield place, data


def _value_at(data: Any, place: Path_) -> Any:
    for part in place:
        if not isinstance(data, Mapping) or part not in data:
            return None
        data = data[part]
    return data


def _refuse_two_requirements(
    overlay: Document, other: Document, place: Path_, mine: list[Any], theirs: list[Any]
) -> None:
    for index, text in enumerate(mine):
        for there, text_there in enumerate(theirs):
            for mark in ("@", "target="):
                one, two = _constraint(text, mark), _constraint(text_there, mark)
                if one and two and one != two:
                    where = f"{other.file}:{other.line((*place, there))}"
                    raise overlay.error(
                        (*place, index), f"{mark}{one}, but {where} requires {mark}{two}", "one of them",
                        "an overlay only adds; change one of the two",
                    )  # fmt: skip


def _constraint(text: Any, mark: str) -> str | None:
    if not isinstance(text, str):
        return None
    word = next((word for word in text.split() if word.startswith(mark)), None)
    return word.removeprefix(mark) if word else None
