"""Which packages of the locks have a known weakness, by a stored copy of the Python packaging authority's list.

    .venv/bin/python ci/advisories.py FOLDER

FOLDER is a clone of github.com/pypa/advisory-database, so no network is needed. The list has one YAML file for each
advisory, in OSV's form (ossf.github.io/osv-schema): a package is affected by the versions that it names, and by those
from `introduced` to before `fixed`, or up to `last_affected`. Exit code: 0 if no locked version is affected, 1 if one
is, 2 if the folder has no such list or there are no locks.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import InvalidVersion, Version

CLONE = Path(__file__).resolve().parents[1]
#: A package and a version: the locks that have it.
Locked = dict[tuple[NormalizedName, str], list[str]]
_LOCKED = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", re.MULTILINE)


def locked_versions(folder: Path) -> Locked:
    """Return each package and version of the locks below a folder, with the names of the locks that have it."""
    found: Locked = {}
    for path in sorted(folder.rglob("*.txt")):
        for name, version in _LOCKED.findall(path.read_text(encoding="utf-8")):
            found.setdefault((canonicalize_name(name), version), []).append(str(path.relative_to(folder)))
    return found


def affects(entry: dict[str, Any], version: str) -> bool:
    """Return whether an entry of `affected` covers a version."""
    if version in map(str, entry.get("versions", ())):
        return True
    ranges = [each for each in entry.get("ranges", ()) if each.get("type") == "ECOSYSTEM"]
    return any(_is_in_range(each.get("events", ()), Version(version)) for each in ranges)


def _is_in_range(events: list[dict[str, Any]], version: Version) -> bool:
    """Return whether a version is in one of the spans of a range, whose events may come in any order."""
    inside = False
    for place, kind in sorted((_place(str(value)), kind) for event in events for kind, value in event.items()):
        if kind == "introduced" and version >= place:
            inside = True
        elif (kind == "fixed" and version >= place) or (kind == "last_affected" and version > place):
            inside = False
    return inside


def _place(text: str) -> Version:
    try:
        return Version(text)
    except InvalidVersion:  # a version of before PEP 440: older than any other
        return Version("0")


def findings(database: Path, packages: Locked) -> Iterator[str]:
    """Yield a sentence for each advisory that covers a locked version."""
    folders = {canonicalize_name(path.name): path for path in database.iterdir() if path.is_dir()}
    for (name, version), locks in packages.items():
        for path in sorted(folders[name].glob("*.yaml")) if name in folders else ():
            advisory = yaml.safe_load(path.read_text(encoding="utf-8"))
            mine = (one for one in advisory["affected"] if canonicalize_name(one["package"]["name"]) == name)
            if not advisory.get("withdrawn") and any(affects(entry, version) for entry in mine):
                names = " ".join((advisory["id"], *advisory.get("aliases", ())))
                yield f"{name} {version}: {names} (requirements/{', requirements/'.join(locks)})"


def main() -> int:
    """Print each finding and how many packages were looked up; return the exit code."""
    if len(sys.argv) != 2:
        print("usage: ci/advisories.py FOLDER, a clone of github.com/pypa/advisory-database", file=sys.stderr)
        return 2
    database, packages = Path(sys.argv[1], "vulns"), locked_versions(CLONE / "requirements")
    count = sum(1 for _ in database.glob("*/*.yaml"))
    if not count or not packages:
        print(f"{database}: found {count} advisories, and {len(packages)} locked packages; expected some of both: "
              "clone github.com/pypa/advisory-database", file=sys.stderr)  # fmt: skip
        return 2
    found = list(findings(database, packages))
    print("\n".join((*found, f"{len(packages)} locked packages, {count} advisories: {len(found)} findings")))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
