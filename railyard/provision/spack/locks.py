"""spack.lock as typed specs: what is in it, and how two of them differ."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from railyard.base.errors import InputError

#: Lock files of Spack 0.22 to 1.2 (spack.environment: lockfile-version).
VERSIONS = (5, 6)


@dataclass(frozen=True, slots=True)
class Spec:
    """One concrete package; ``external`` is its prefix if Spack did not build it, ``provides`` its virtuals."""

    name: str
    version: str
    hash: str
    target: str
    variants: Mapping[str, Any]
    external: str | None
    provides: tuple[str, ...]
    compiler: str | None

    @property
    def short(self) -> str:
        """The spec as a person reads it: ``openmpi@5.0.10 /abc1234``."""
        return f"{self.name}@{self.version} /{self.hash[:7]}"


@dataclass(frozen=True, slots=True)
class Lock:
    """The concrete specs of an environment, roots first in the order of the file."""

    roots: tuple[tuple[str, str], ...]
    specs: Mapping[str, Spec]
    spack: str

    def find_spec(self, name: str) -> Spec | None:
        """Return the spec of this name, or None."""
        return next((spec for spec in self.specs.values() if spec.name == name), None)

    @property
    def mpi(self) -> Spec | None:
        """The package that the others use as MPI, or None if nothing needs MPI."""
        return next((spec for spec in self.specs.values() if "mpi" in spec.provides), None)


def parse(text: str, file: str) -> Lock:
    """Return what is in a lock. Raises InputError for text that is not a lock of a known version."""
    expected = "a spack.lock"
    try:
        data = json.loads(text)
    except ValueError as error:
        raise InputError(file, f"text that is not JSON ({error})", expected, action=_AGAIN) from None
    if not isinstance(data, dict) or data.get("_meta", {}).get("file-type") != "spack-lockfile":
        raise InputError(file, "another JSON file", expected, action=_AGAIN)
    version = data["_meta"].get("lockfile-version")
    if version not in VERSIONS:
        known = f"version {VERSIONS[0]} to {VERSIONS[-1]}"
        raise InputError(file, f"a lock of version {version}", known, action=_AGAIN)
    try:
        concrete = data["concrete_specs"]
        uses: dict[str, dict[str, None]] = {}
        for dependency in _dependencies(concrete):
            uses.setdefault(dependency["hash"], {}).update(dict.fromkeys(_virtuals(dependency)))
        specs = {
            key: _spec(node, tuple(uses.get(key, ())), _compiler(concrete, node)) for key, node in concrete.items()
        }
        roots = tuple((root["spec"], root["hash"]) for root in data["roots"])
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(file, f"a lock without {error}", expected, action=_AGAIN) from None
    return Lock(roots, specs, str(data.get("spack", {}).get("version", "")))


_AGAIN = "make it again: railyard spack lock"


def _dependencies(concrete: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for node in concrete.values():
        yield from node.get("dependencies", ())


def _virtuals(dependency: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(dependency["parameters"].get("virtuals", ()))


def _compiler(concrete: Mapping[str, Any], node: Mapping[str, Any]) -> str | None:
    for dependency in node.get("dependencies", ()):
        if "c" in _virtuals(dependency) or "fortran" in _virtuals(dependency):
            return f"{dependency['name']}@{concrete[dependency['hash']]['version']}"
    return None


def _spec(node: Mapping[str, Any], provides: tuple[str, ...], compiler: str | None) -> Spec:
    target = node["arch"]["target"]
    external = node.get("external")
    return Spec(
        name=node["name"],
        version=str(node["version"]),
        hash=node["hash"],
        target=target if isinstance(target, str) else target["name"],
        variants={name: value for name, value in node.get("parameters", {}).items() if value != []},
        external=external.get("path") if external else None,
        provides=provides,
        compiler=compiler,
    )


def differences(old: Lock, new: Lock) -> tuple[str, ...]:
    """Return a line for each package that came, went, or changed (version, target, variants, prefix), by name."""
    lines = []
    before, after = _by_name(old), _by_name(new)
    for name in sorted({*before, *after}):
        one, other = before.get(name), after.get(name)
        if one is None and other is not None:
            lines.append(f"+ {other.short}")
        elif other is None and one is not None:
            lines.append(f"- {one.short}")
        elif one is not None and other is not None and one.hash != other.hash:
            lines.append(f"~ {one.short} -> {other.short}{_changes(one, other)}")
    return tuple(lines)


def _by_name(lock: Lock) -> dict[str, Spec]:
    return {spec.name: spec for spec in lock.specs.values()}


def _changes(one: Spec, other: Spec) -> str:
    changed = [
        f"{name}={one.variants.get(name)} -> {other.variants.get(name)}"
        for name in sorted({*one.variants, *other.variants})
        if one.variants.get(name) != other.variants.get(name)
    ]
    pairs: tuple[tuple[str, str | None, str | None], ...] = (
        ("target", one.target, other.target),
        ("prefix", one.external, other.external),
        ("compiler", one.compiler, other.compiler),
    )
    changed += [f"{name} {mine or 'none'} -> {theirs or 'none'}" for name, mine, theirs in pairs if mine != theirs]
    return f" ({'; '.join(changed)})" if changed else " (its dependencies or its recipe)"
