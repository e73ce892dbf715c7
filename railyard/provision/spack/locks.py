"""spack.lock as typed specs: what is in it, how two of them differ, and whether a committed one still fits its sources.

A lock that does not fit spack.yaml, its includes or the overlay is refused with the line that differs.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from railyard.base.errors import InputError
from railyard.base.strict_yaml import Document
from railyard.base.values import Path_, show
from railyard.hardware.node import family_of
from railyard.provision.spack import overlay
from railyard.provision.spack.sources import Sources, variables

#: Lock files of Spack 0.22 to 1.2 (spack.environment: lockfile-version).
VERSIONS = (5, 6)
#: The only form of condition that spack_envs/common/definitions.yaml uses.
_WHEN = re.compile(r'"(?P<name>[\w-]+)" (?P<not>not )?in env\.get\("(?P<variable>\w+)", ""\)\.split\(","\)')
# One constraint of a spec: @7.4 | +mpi ~openmp | classes:=S,W | a package's name. After ^ or % it belongs to another
# package.
_WORD = re.compile(
    r"@(?P<version>[^\s+~%^]+)|(?P<flag>[+~])(?P<switch>[\w-]+)|(?P<key>[\w-]+)(?P<exact>:?=)(?P<value>'[^']*'|\"[^\"]*\"|[^\s]+)"
    r"|(?P<name>[\w.-]+)|(?P<other>[%^])|(?P<else>\S)"
)
#: Keys of a spec that a lock does not have as variants.
_NO_VARIANTS = ("arch", "platform", "os", "namespace")


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


@dataclass(frozen=True, slots=True)
class _Requirement:
    """One text of a file that the lock must satisfy."""

    text: str
    document: Document
    path: Path_

    @property
    def place(self) -> str:
        return f"as {self.document.file}:{self.document.line(self.path)} asks"


#: Packages that work only on one family of processors although Spack solves them for any: family, and what they are.
ONLY_FOR: Mapping[str, tuple[str, str]] = {
    "opa-psm2": ("x86_64", "the library of Omni-Path's cards"),
    "psm": ("x86_64", "the library of True Scale's cards"),
}


def why_foreign(lock: Lock) -> str | None:
    """Return why the target's processors cannot have a package of the lock, by its name; None if they can have all."""
    for spec in lock.specs.values():
        family, what = ONLY_FOR.get(spec.name, ("", ""))
        if family and family_of(spec.target) != family:
            return (
                f"{spec.short} is for {family} only ({what}), and the target is {spec.target}; leave it out of the "
                "overlay (fabrics=… of libfabric or the MPI)"
            )
    return None


def read_committed(sources: Sources) -> Lock | None:
    """Return the committed lock, None if there is none. Raises InputError if it is broken or out of date."""
    if sources.lock is None:
        return None
    file = overlay.short_path(sources.lock)
    lock = parse(sources.lock.read_text(encoding="utf-8", errors="replace"), file)
    refuse_outdated(lock, file, sources)
    return lock


def refuse_outdated(lock: Lock, file: str, sources: Sources) -> None:
    """Raise InputError at the first spec of the lock that the environment no longer asks for in this form.

    It compares the roots, each version, variant and target that ``packages:`` requires without a condition, the target
    that wins, and the version and prefix of each external. A preference does not change a lock.
    """
    _refuse_roots(lock, file, sources)
    target = sources.target
    for _, key in lock.roots:
        spec = lock.specs[key]
        if spec.target != target.name and spec.external is None:
            raise InputError(
                file, f'{spec.name} with "target={spec.target}"', f'"{target.name}", as {target.source} asks',
                field=spec.short, action=_ACTION,
            )  # fmt: skip
    for document in sources.documents:
        for name, wanted in _packages(document).items():
            for asked in _requirements(document, str(name), wanted):
                _refuse_requirement(lock, file, str(name), asked)
    for document in sources.documents:
        for name, wanted in _packages(document).items():
            _refuse_externals(lock, file, document, str(name), wanted, sources)


def _packages(document: Document) -> Mapping[str, Any]:
    packages = document.data.get("packages")
    found = packages if isinstance(packages, Mapping) else {}
    return {name: wanted for name, wanted in found.items() if isinstance(wanted, Mapping)}


def _refuse_roots(lock: Lock, file: str, sources: Sources) -> None:
    wanted = _roots(sources)
    if wanted is None:
        return  # only Spack can decide this condition
    # Compare the text only: after `concretize -f` Spack 1.2.0.dev0 wrote roots whose text and hash were of different
    # packages.
    locked = ["".join(text.split()) for text, _ in lock.roots]
    for asked in wanted:
        if "".join(asked.text.split()) not in locked:
            raise InputError(file, f"no {show(asked.text)} among its roots", f"it, {asked.place}", action=_ACTION)
    texts = {"".join(asked.text.split()) for asked in wanted}
    for text in locked:
        if text not in texts:
            expected = f"none: {sources.section.file}:{sources.section.line(('specs',))} no longer asks for it"
            raise InputError(file, f"the root {show(text)}", expected, action=_ACTION)


def _roots(sources: Sources) -> tuple[_Requirement, ...] | None:
    """Return the specs that the environment asks for, with definitions filled in; None if only Spack can tell."""
    found: list[_Requirement] = []
    for index, text in enumerate(sources.section.data.get("specs") or ()):
        if isinstance(text, str) and not text.startswith("$"):
            found.append(_Requirement(text, sources.section, ("specs", index)))
            continue
        items = list(_definition_specs(str(text)[1:], sources)) if isinstance(text, str) else [None]
        if not items or any(item is None or item.text.startswith("$") for item in items):
            return None
        found += [item for item in items if item is not None]
    return tuple(found)


def _definition_specs(name: str, sources: Sources) -> Iterator[_Requirement | None]:
    """Yield the specs of a definition; None if its condition is not of the known form."""
    values = {**os.environ, **variables(sources)}
    for document in sources.documents:
        for index, entry in enumerate(document.data.get("definitions") or ()):
            if not isinstance(entry, Mapping) or name not in entry:
                continue
            when = entry.get("when")
            condition = _WHEN.fullmatch(str(when)) if when is not None else None
            if when is not None and condition is None:
                yield None
                continue
            if condition is not None:
                there = condition["name"] in values.get(condition["variable"], "").split(",")
                if there == bool(condition["not"]):
                    continue
            for number, text in enumerate(entry[name]):
                yield (
                    _Requirement(text, document, ("definitions", index, name, number))
                    if isinstance(text, str)
                    else None
                )


def _requirements(
    document: Document, name: str, wanted: Mapping[Any, Any], section: Literal["require", "prefer"] = "require"
) -> Iterator[_Requirement]:
    required = wanted.get(section, ())
    if isinstance(required, str):
        yield _Requirement(required, document, ("packages", name, section))
        return
    for index, entry in enumerate(required):
        text = entry if isinstance(entry, str) else None
        if isinstance(entry, Mapping) and "when" not in entry and isinstance(entry.get("spec"), str):
            text = entry["spec"]
        if text is not None:
            yield _Requirement(text, document, ("packages", name, section, index))


def unmet_preference(spec: Spec, sources: Sources) -> str | None:
    """Return the variants of a spec that the environment prefers otherwise, with the file and line that prefer them.

    None if it has all of them, or only its version differs. A preference applies to what Spack builds: if packages are
    reused, Spack takes an upstream's MPICH for TCP where spack_envs prefers one for UCX, and says nothing.
    """
    for document in sources.documents:
        for asked in _requirements(document, spec.name, _packages(document).get(spec.name, {}), "prefer"):
            words = [word[0] for word in _WORD.finditer(asked.text) if not word["version"]]
            found = [(word, other) for word in words if (other := _difference(spec, word, only_target=False))]
            if found:
                others = ", ".join(other for _, other in found)
                wanted = " ".join(word for word, _ in found)
                return f"it has {others}, and {document.file}:{document.line(asked.path)} prefers {wanted}"
    return None


def _refuse_requirement(lock: Lock, file: str, name: str, asked: _Requirement) -> None:
    for spec in lock.specs.values():
        if spec.external is None or name in spec.provides:
            if name in ("all", spec.name) or name in spec.provides:
                found = _difference(spec, asked.text, only_target=name == "all")
                if found is not None:
                    raise _outdated_error(file, spec, found, asked)


def _difference(spec: Spec, text: str, *, only_target: bool) -> str | None:
    """Return what a locked spec has instead of a constraint of the text, None if it satisfies all of them."""
    for word in _WORD.finditer(text):
        if word["other"] or word["else"]:
            return None  # what follows is about another package, or has none of the forms above
        if word["key"] == "target":
            if spec.target != word["value"]:
                return f"target={spec.target}"
        elif only_target:
            continue
        elif word["version"] and not _is_version(spec.version, word["version"].removeprefix("=")):
            return f"@{spec.version}"
        elif word["name"] and word["name"] != spec.name:
            return spec.name
        elif word["switch"] and spec.variants.get(word["switch"]) is not (word["flag"] == "+"):
            return f"{word['switch']}={spec.variants.get(word['switch'])}"
        elif word["key"] and word["key"] not in _NO_VARIANTS and not _has_value(spec, word):
            return f"{word['key']}={_format_value(spec.variants.get(word['key']))}"
    return None


def _is_version(version: str, wanted: str) -> bool:
    """Return whether a version is the wanted one or a part of it (7.4 takes 7.4 and 7.4.1). Ranges are Spack's task."""
    return any(mark in wanted for mark in ":,") or version == wanted or version.startswith(f"{wanted}.")


def _has_value(spec: Spec, word: "re.Match[str]") -> bool:
    found = spec.variants.get(word["key"])
    values = {str(each) for each in found} if isinstance(found, list) else {_format_value(found)}
    wanted = set(word["value"].strip("'\"").split(","))
    return values == wanted if word["exact"] == ":=" else wanted <= values


def _format_value(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value).lower() if value is True else str(value)


def _refuse_externals(
    lock: Lock, file: str, document: Document, name: str, wanted: Mapping[Any, Any], sources: Sources
) -> None:
    stated = {
        str(each.get("prefix", "")).replace(overlay.HOME, str(sources.home)): str(each.get("spec", ""))
        for each in wanted.get("externals", ())
        if isinstance(each, Mapping)
    }
    for spec in lock.specs.values():
        if spec.name != name or not stated:
            continue
        asked = _Requirement(" or ".join(stated), document, ("packages", name, "externals", 0))
        if spec.external is None:
            if wanted.get("buildable") is False:
                raise _outdated_error(file, spec, "a build of its own", asked)
        elif spec.external not in stated:
            raise _outdated_error(file, spec, spec.external, asked)
        else:
            version = re.search(r"@=?([^\s+~%^]+)", stated[spec.external])
            if version is not None and not _is_version(spec.version, version[1]):
                raise _outdated_error(
                    file, spec, f"@{spec.version}", _Requirement(f"@{version[1]}", document, asked.path)
                )


_ACTION = "the lock is out of date; type: railyard spack lock, which shows the difference before it writes"


def _outdated_error(file: str, spec: Spec, found: str, asked: _Requirement) -> InputError:
    return InputError(
        file, f'{spec.name} with "{found}"', f'"{asked.text}", {asked.place}',
        field=spec.short, action=_ACTION,
    )  # fmt: skip
