"""What a (system, stack) environment is made from, its folder for Spack, and a key that changes with any of it.

Also whether a node can run what was built: the job checks before the run, so no SIGILL or missing file ends it.
"""

import hashlib
import json
import os
import platform
import re
import shlex
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from railyard.base.errors import UNFIT_EXIT, InputError, SetupError
from railyard.base.paths import part
from railyard.base.strict_yaml import Document, load
from railyard.base.values import Path_, show
from railyard.hardware import node
from railyard.provision.spack import overlay
from railyard.provision.spack import overlay as site_configuration
from railyard.provision.spack.marker import Executable, Marker
from railyard.provision.spack.overlay import SiteFile

OVERLAY = "overlay.yaml"
#: What spack_envs/common/definitions.yaml reads: groups to add, and benchmarks to leave out, comma-separated.
WITH_VARIABLE = "RAILYARD_SPACK_WITH"
WITHOUT_VARIABLE = "RAILYARD_SPACK_WITHOUT"
ENVIRONMENTS = "spack_envs"
REPOSITORY = "repo"
#: What Spack builds for if neither the overlay nor the system's file names a processor, so that hashes do not depend on
#: the host that builds. x86_64_v3 needs AVX2, which servers have since 2014. Of another machine it is the family.
DEFAULTS = {"x86_64": "x86_64_v3"}


@dataclass(frozen=True, slots=True)
class Target:
    """What Spack builds for (``zen4``), and what says so. ``is_named``: the overlay or the environment says it."""

    name: str
    source: str
    is_named: bool = False


@dataclass(frozen=True, slots=True)
class Choices:
    """What a system's file asks for; the fields are those of ``Sources``."""

    with_: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    processor: str | None = None
    scopes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sources:
    """The files of one environment, and what the system's file asks for.

    ``with_`` has the optional groups that are added to its specs, ``without`` the benchmarks that are left out.
    ``processor`` is that of the nodes, None if it is not stated; ``scopes`` are those of Spack's local configuration
    that are used, and ``site_files`` the site's own files of configuration, the strongest first. ``machine`` is that
    of this host as ``uname -m`` names it.
    """

    home: Path
    system: str
    environment: str
    manifest: Document
    includes: tuple[tuple[Path, Document], ...]
    overlay: Document | None
    lock: Path | None
    with_: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    processor: str | None = None
    scopes: tuple[str, ...] = ()
    site_files: tuple[SiteFile, ...] = ()
    machine: str = "x86_64"

    @property
    def folder(self) -> Path:
        """The folder of the environment's own manifest."""
        return environments(self.home) / self.environment

    @property
    def section(self) -> Document:
        """What is below ``spack:`` in the manifest, with the manifest's own lines."""
        return Document(self.manifest.file, self.manifest.data["spack"], _node(self.manifest))

    @property
    def documents(self) -> tuple[Document, ...]:
        """All configuration of Railyard's files, the strongest first: the overlay, the manifest, its includes."""
        first = () if self.overlay is None else (self.overlay,)
        return (*first, self.section, *(document for _, document in self.includes))

    @property
    def all_documents(self) -> tuple[Document, ...]:
        """That, and after it the site's own configuration."""
        return (*self.documents, *(each.document for each in self.site_files))

    @property
    def target(self) -> Target:
        """What Spack builds for: what overlay or environment say, else the nodes' processor, else a default."""
        for document in self.documents:
            for place, name in _named_targets(document):
                return Target(name, f"{document.file}:{document.line(place)}", is_named=True)
        if self.processor is not None:
            return Target(self.processor, f"nodes.hardware.microarchitecture of systems/{self.system}.yaml")
        for each in self.site_files:
            for place, name in _named_targets(each.document):
                return Target(name, f"{each.document.file}:{each.document.line(place)}")
        return Target(default_target(None, self.machine), f"the default for {self.machine}")

    @property
    def upstreams(self) -> dict[str, str]:
        """The install trees of the upstreams that the files name, by name."""
        found: dict[str, str] = {}
        for document in self.all_documents:
            section = document.data.get("upstreams")
            for name, entry in section.items() if isinstance(section, Mapping) else ():
                tree = entry.get("install_tree") if isinstance(entry, Mapping) else None
                if isinstance(tree, str):
                    filled = tree.replace(overlay.HOME, str(self.home))
                    found.setdefault(str(name), os.path.expanduser(os.path.expandvars(filled)))
        return found

    @property
    def names_install_tree(self) -> bool:
        """Whether the site or the environment says where packages are installed: then others may use the place too."""
        return self.install_tree is not None

    @property
    def install_tree(self) -> str | None:
        """The install tree that the site or the environment names, as it is written; None if they name none."""
        for document in self.documents:
            config = document.data.get("config")
            if isinstance(config, dict) and "install_tree" in config:
                tree = config["install_tree"]
                root = tree.get("root", "") if isinstance(tree, dict) else tree
                return str(root).replace(overlay.HOME, str(self.home))
        return None

    @property
    def overlay_data(self) -> dict[str, Any]:
        """The overlay with the site folder filled in, without what it includes; empty if the system has none."""
        found = {} if self.overlay is None else overlay.fill_home(self.overlay, self.home)
        return {section: entry for section, entry in found.items() if section != "include"}

    def key(self) -> str:
        """Return 16 hexadecimal digits that name all of its content: different content is a different environment."""
        digest = hashlib.sha256()
        parts: list[tuple[str, bytes]] = [(self.manifest.file, (self.folder / "spack.yaml").read_bytes())]
        parts += [(document.file, path.read_bytes()) for path, document in self.includes]
        parts += [("overlay", json.dumps(self.overlay_data, sort_keys=True, default=str).encode())]
        parts += [("chosen", json.dumps([sorted(self.with_), sorted(self.without)]).encode())]
        parts += [("target", self.target.name.encode()), ("scopes", json.dumps(sorted(self.scopes)).encode())]
        parts += [(str(each.path), each.content) for each in self.site_files]
        if self.lock is not None:
            parts.append(("lock", self.lock.read_bytes()))
        top = environments(self.home)
        parts += [(str(path.relative_to(top)), path.read_bytes()) for path in repository_files(self.home)]
        for name, content in parts:
            digest.update(f"{name}\0{len(content)}\0".encode())
            digest.update(content)
        return digest.hexdigest()[:16]


def environments(home: Path) -> Path:
    """Return the folder of environments: the site's own, or Railyard's if the site has none."""
    return part(home, ENVIRONMENTS)


def lock_file(home: Path, system: str, stack: str) -> Path:
    """Return where a site commits the lock of one environment, whether it exists or not."""
    return home / "systems" / "spack" / system / f"{stack}.lock"


def repository_files(home: Path) -> tuple[Path, ...]:
    """Return every file of our own package repository, sorted."""
    folder = environments(home) / REPOSITORY
    return tuple(sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts))


def gather(
    home: Path,
    system: str,
    stack: str,
    environment: str,
    choices: Choices | None = None,
) -> Sources:
    """Return the sources of one environment, read and compared with each other.

    Raises InputError for a missing or broken file, an include or an upstream that is not there, an overlay that
    contradicts the rest, and a target that the nodes' processor does not run.
    """
    manifest_file = environments(home) / environment / "spack.yaml"
    manifest = load(manifest_file, overlay.short_path(manifest_file))
    body = manifest.data.get("spack")
    if not isinstance(body, dict):
        raise manifest.error((), "no section spack", 'a Spack manifest, "spack:"')
    includes = []
    for index, name in enumerate(body.get("include") or ()):
        place = ("spack", "include", index)
        if not isinstance(name, str) or not name.startswith("../"):
            raise manifest.error(place, show(name), f"a path below {ENVIRONMENTS}/, such as ../common/packages.yaml")
        path = (manifest_file.parent / name).resolve()
        files = sorted(path.glob("*.yaml")) if path.is_dir() else [path]
        if not files or not files[0].is_file():
            raise manifest.error(place, f"{name}, which is not there", "a file, or a folder of them")
        includes += [(file, load(file, overlay.short_path(file))) for file in files]
    over_file = overlay.overlay_file(home, system)
    over = overlay.read(over_file) if over_file.is_file() else None
    lock = lock_file(home, system, stack)
    committed = lock if lock.is_file() else None
    included = () if over is None else overlay.read_included(over, home)
    asked = choices or Choices()
    sources = Sources(
        home, system, environment, manifest, tuple(includes), over, committed, asked.with_, asked.without,
        asked.processor, asked.scopes, (*included, *site_configuration.read_scopes(asked.scopes)), platform.machine(),
    )  # fmt: skip
    if over is not None:
        overlay.refuse_conflicts(over, sources.documents[1:])
        overlay.refuse_absent_upstreams(over, home)
    _refuse_unfit_targets(sources)
    return sources


def _named_targets(document: Document) -> Iterator[tuple[Path_, str]]:
    """Yield the targets that ``packages: all:`` of a document names, the one that wins first, each with its place."""
    packages = document.data.get("packages")
    entry = packages.get("all") if isinstance(packages, Mapping) else None
    if not isinstance(entry, Mapping):
        return
    required = entry.get("require")
    for index, text in enumerate(required if isinstance(required, list) else [required]):
        place: Path_ = ("packages", "all", "require")
        if not isinstance(text, Mapping) or "when" not in text:
            word = str(text.get("spec", "")) if isinstance(text, Mapping) else str(text or "")
            for found in re.findall(r"(?:^|\s)target=([\w.-]+)(?=\s|$)", word):
                yield ((*place, index) if isinstance(required, list) else place), found
    listed = entry.get("target") or []
    for index, name in enumerate(listed if isinstance(listed, list) else [listed]):
        yield ("packages", "all", "target", index), str(name)


def _refuse_unfit_targets(sources: Sources) -> None:
    """Raise InputError if a file of ours names a target that the stated processor does not run."""
    if sources.processor is None:
        return
    for document in sources.documents:
        for place, name in _named_targets(document):
            if not node.can_run(sources.processor, name):
                where = f"nodes.hardware.microarchitecture of systems/{sources.system}.yaml"
                raise document.error(
                    place, show(name), f"a target that {sources.processor} runs ({where})", "correct one of the two"
                )


def _node(manifest: Document) -> Any:
    """Return the node below ``spack:``, so that paths inside the section lead to its lines."""
    for key, value in manifest.root.value:
        if key.value == "spack":
            return value
    raise InputError(manifest.file, "no section spack", 'a Spack manifest, "spack:"')


def write(sources: Sources, folder: Path, install_tree: Path) -> Path:
    """Write the environment's folder again and return the folder of its manifest.

    It is a copy: if you edit the clone while Spack builds, the build does not change. ``install_tree`` is used if
    neither the overlay nor the environment names one. Raises SetupError if the folder cannot be written.
    """
    try:
        return _write_sources(sources, folder, install_tree)
    except OSError as error:
        raise SetupError(
            f"{error.filename or folder}: {(error.strerror or str(error)).lower()}, expected to write there what "
            f"Spack is given; make room, or choose another folder in the system's file (spack: root)"
        ) from None


def _write_sources(sources: Sources, folder: Path, install_tree: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    place = folder / sources.environment
    place.mkdir(parents=True)
    top = environments(sources.home)
    for path, _ in sources.includes:
        copy = folder / path.relative_to(top)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    if (top / REPOSITORY).is_dir():
        shutil.copytree(top / REPOSITORY, folder / REPOSITORY, ignore=shutil.ignore_patterns("__pycache__"))
    _dump(_with_target(sources, _with_install_tree(sources, install_tree)), folder / OVERLAY)
    body = dict(sources.manifest.data["spack"])
    # Spack takes the first that says something: what the site has already is the weakest.
    own = [str(each.path) for each in sources.site_files if each.scope is None]
    body["include"] = [f"../{OVERLAY}", *(body.get("include") or ()), *own]
    _dump({"spack": body}, place / "spack.yaml")
    if sources.lock is not None:
        shutil.copyfile(sources.lock, place / "spack.lock")
    return place


def variables(sources: Sources) -> dict[str, str]:
    """Return the variables that select the environment's specs."""
    return {WITH_VARIABLE: ",".join(sources.with_), WITHOUT_VARIABLE: ",".join(sources.without)}


def _with_install_tree(sources: Sources, install_tree: Path) -> dict[str, Any]:
    data = sources.overlay_data
    if sources.names_install_tree:
        return data
    return {**data, "config": {**(data.get("config") or {}), "install_tree": {"root": str(install_tree)}}}


def _with_target(sources: Sources, data: dict[str, Any]) -> dict[str, Any]:
    if sources.target.is_named:
        return data
    packages = dict(data.get("packages") or {})
    packages["all"] = {**(packages.get("all") or {}), "target": [sources.target.name]}
    return {**data, "packages": packages}


def _dump(data: dict[str, Any], path: Path) -> None:
    path.write_text(yaml.safe_dump(data, sort_keys=False, width=120), encoding="utf-8")


def default_target(stated: str | None, machine: str) -> str:
    """Return the target of a system: its stated processor, else the default for a machine as ``uname -m`` names it."""
    return stated or DEFAULTS.get(machine, machine)


def why_not(target: str, cpuinfo: str) -> str | None:
    """Return why a node cannot run code for a target, from its /proc/cpuinfo, or None if it can."""
    lines = (line for line in cpuinfo.splitlines() if line.startswith(("flags", "Features")))
    present = {word for line in lines for word in line.split()}
    missing = [name for name in node.features(target) if name not in present]
    if not missing:
        return None
    return f"the benchmarks are built for {target}, and this node's processor lacks {', '.join(missing)}"


def job_checks(built: Marker, executable: str) -> list[str]:
    """Return lines of sh for a job of this build. Each ends the job with exit code 66 if it finds a fault."""
    recorded = next((each for each in built.executables if each.path == executable), None)
    lines = [] if recorded is None else [file_check(recorded)]
    wanted = node.features(built.target)
    return [*lines, shell_check(wanted, built.target)] if wanted else lines


def file_check(recorded: Executable) -> str:
    """Return a line of sh that ends a job if the executable is not there, or is not the one that was built."""
    path = shlex.quote(recorded.path)
    absent = f"railyard: error: {recorded.path} is not there on this node, or may not be run"
    other = f"railyard: error: {recorded.path} is not the file that was built ({recorded.size} bytes)"
    return (
        f"[ -x {path} ] || {_end(f'{absent}: mount the install tree on the compute nodes')}; "
        f'[ "$(stat -L -c %s {path})" = {recorded.size} ] || {_end(f"{other}: build it again")}'
    )


def shell_check(wanted: Iterable[str], target: str, cpuinfo: str = "/proc/cpuinfo") -> str:
    """Return a line of sh that ends a job if the node lacks one of the features."""
    sentence = f"railyard: error: the benchmarks are built for {target}, and the processor of this node lacks"
    return (
        f'for f in {" ".join(wanted)}; do grep -qw "$f" {shlex.quote(cpuinfo)} || {{ echo "{sentence} $f: '
        f'build for a target that every node has" >&2; exit {UNFIT_EXIT}; }}; done'
    )


def _end(sentence: str) -> str:
    return f"{{ echo {shlex.quote(sentence)} >&2; exit {UNFIT_EXIT}; }}"
