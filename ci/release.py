"""Makes a release's wheel and sdist, and says whether people can use them: `make release`. It uploads nothing.

    ci/release.py metadata [--publish]      what pyproject.toml, the version and the changelog say: part of `make lint`
    ci/release.py make [--publish]          builds HEAD twice into dist/, compares, checks and tries both files
    ci/release.py try FILE                  installs a wheel or sdist for this Python in a new place, and uses it

With ``--publish`` it refuses what must not be published, such as addresses that are placeholders. It takes the Pythons
of PYTHONS="python3.11 /opt/python/bin/python3", else python3.10 to python3.14 of PATH, and names those that are absent.
It imports the standard library only, so that each of these Pythons can run it.
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

CLONE = Path(__file__).resolve().parent.parent
#: The host of addresses that nobody has chosen yet: no name below .invalid ever exists (RFC 2606).
PLACEHOLDER = "://railyard.invalid/"
URLS = ("Homepage", "Documentation", "Repository", "Issues", "Changelog")
PYTHONS = tuple(f"python3.{minor}" for minor in range(10, 15))
VERSION = re.compile(r'^__version__ = "(?P<version>[^"]*)"$', re.MULTILINE)
#: What a wheel has in addition to files of the clone.
MADE = ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")


class NotFit(Exception):
    """A release that cannot be published or used: the text says what, where and what to do."""


def version_of(clone: Path) -> str:
    """Return the version, which is in railyard/__init__.py and nowhere else."""
    found = VERSION.search((clone / "railyard/__init__.py").read_text(encoding="utf-8"))
    if found is None:
        raise NotFit('railyard/__init__.py: found no line __version__ = "…", expected the version there')
    return found["version"]


# --- what is said of the package --------------------------------------------------------------------------------------


def problems(clone: Path, publish: bool) -> Iterator[str]:
    """Yield what is wrong with version, addresses, easyconfig and changelog; with ``publish`` what is not ready too."""
    version = version_of(clone)
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        yield f'railyard/__init__.py: __version__: found "{version}", expected three numbers, such as 1.4.0'
    yield from _address_problems((clone / "pyproject.toml").read_text(encoding="utf-8"), publish)
    yield from _easyconfig_problems(clone / "packaging", version)
    yield from _changelog_problems((clone / "CHANGELOG.md").read_text(encoding="utf-8"), version, publish)
    tag = os.environ.get("CI_COMMIT_TAG")
    if publish and tag and tag != f"v{version}":
        yield f'the tag: found "{tag}", expected v{version}, which railyard/__init__.py says'


def _address_problems(pyproject: str, publish: bool) -> Iterator[str]:
    addresses = dict(_urls(pyproject))
    if tuple(addresses) != URLS:
        yield f"pyproject.toml: project.urls: found {', '.join(addresses) or 'none'}, expected {', '.join(URLS)}"
    for name, address in addresses.items():
        if PLACEHOLDER in address:
            if publish:
                yield (
                    f'pyproject.toml: project.urls.{name}: found the placeholder "{address}", expected an address that '
                    "people can open; write there where this repository is published"
                )
        elif not address.startswith("https://"):
            yield f'pyproject.toml: project.urls.{name}: found "{address}", expected an address that begins with https://'
    if len({PLACEHOLDER in address for address in addresses.values()}) > 1:
        yield "pyproject.toml: project.urls: found placeholders beside real addresses, expected one or the other"


def _easyconfig_problems(folder: Path, version: str) -> Iterator[str]:
    names = [path.name for path in sorted(folder.glob("*.eb"))]
    if len(names) != 1 or not names[0].startswith(f"railyard-{version}-"):
        yield f"packaging/: found {', '.join(names) or 'no easyconfig'}, expected one of version {version}: rename it"
    elif f"\nversion = '{version}'\n" not in (folder / names[0]).read_text(encoding="utf-8"):
        yield f"packaging/{names[0]}: found no line version = '{version}', expected it, as its name says"


def _urls(pyproject: str) -> Iterator[tuple[str, str]]:
    _, _, section = pyproject.partition("\n[project.urls]\n")
    for line in section.partition("\n[")[0].splitlines():
        if found := re.fullmatch(r'(\w+) = "([^"]*)"', line):
            yield found[1], found[2]


def _changelog_problems(text: str, version: str, publish: bool) -> Iterator[str]:
    newest = next((line for line in text.splitlines() if line.startswith("## [")), "")
    released = re.fullmatch(r"## \[(\d+\.\d+\.\d+)\] - \d{4}-\d\d-\d\d", newest)
    if released is None and newest not in ("## [Unreleased]", f"## [{version}] - not released yet"):
        yield (
            f'CHANGELOG.md: found "{newest}" first, expected "## [{version}] - YEAR-MONTH-DAY", '
            f'"## [{version}] - not released yet" or "## [Unreleased]"'
        )
    elif publish and (released is None or released[1] != version):
        yield (
            f'CHANGELOG.md: found "{newest}" first, expected "## [{version}] - YEAR-MONTH-DAY"; '
            "write the day of the release"
        )


# --- wheel and sdist --------------------------------------------------------------------------------------------------


def make(publish: bool) -> None:
    """Write wheel, sdist and SHA256SUMS of HEAD into dist/, after all checks. Raises NotFit."""
    _refuse_all(problems(CLONE, publish))
    if _output_of("git", "status", "--porcelain", "--untracked-files=no", folder=CLONE):
        if publish:
            raise NotFit("the clone: found changed files, expected a clean one: commit them, or put them back")
        print("release: the clone has changed files, which are left out: HEAD is what is built")
    with tempfile.TemporaryDirectory() as scratch:
        # Folders of other names and another umask: none of them may be in a file.
        first = _build(Path(scratch) / "one", 0o022)
        second = _build(Path(scratch) / "another/place", 0o077)
        again = _build_wheel(next(file for file in first if file.suffix == ".gz"), Path(scratch) / "of-sdist")
        _compare(first, second, "a second build of the same commit")
        _compare([file for file in first if file.suffix == ".whl"], [again], "the wheel that is built from the sdist")
        _check_contents(first, Path(scratch) / "one/clone")
        _check_by_twine(first, Path(scratch))
        shutil.rmtree(CLONE / "dist", ignore_errors=True)
        (CLONE / "dist").mkdir()
        kept = [Path(shutil.copy(file, CLONE / "dist")) for file in first]
    sums = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in kept]
    (CLONE / "dist/SHA256SUMS").write_text("".join(sums), encoding="utf-8")
    for python in _pythons():
        _call(python, str(Path(__file__).resolve()), "try", *(str(file) for file in kept if file.suffix == ".whl"))
    _call(sys.executable, str(Path(__file__).resolve()), "try", *(str(file) for file in kept if file.suffix == ".gz"))
    for line in sums:
        print(f"release: dist/{line.split()[1]} {line.split()[0]}")
    for problem in problems(CLONE, publish=True):
        print(f"release: not to be published yet: {problem}")


def _build(folder: Path, umask: int) -> list[Path]:
    """Clone HEAD into a folder, and return the wheel and the sdist that hatchling makes there."""
    folder.mkdir(parents=True)
    before = os.umask(umask)
    try:
        _output_of("git", "clone", "--quiet", "--no-hardlinks", str(CLONE), str(folder / "clone"), folder=folder)
        head = _output_of("git", "rev-parse", "HEAD", folder=CLONE).strip()
        _output_of("git", "checkout", "--quiet", "--detach", head, folder=folder / "clone")
        _output_of(_beside_python("hatchling"), "build", "-d", str(folder / "dist"), folder=folder / "clone")
    finally:
        os.umask(before)
    return sorted((folder / "dist").iterdir())


def _build_wheel(sdist: Path, folder: Path) -> Path:
    """Return the wheel that is built from an sdist, without git."""
    folder.mkdir()
    _output_of("tar", "-xzf", str(sdist), folder=folder)
    (source,) = folder.iterdir()
    _output_of(_beside_python("hatchling"), "build", "-t", "wheel", "-d", str(folder / "dist"), folder=source)
    (wheel,) = (folder / "dist").iterdir()
    return wheel


def _compare(first: Sequence[Path], second: Sequence[Path], what: str) -> None:
    names = [file.name for file in first], [file.name for file in second]
    if names[0] != names[1]:
        raise NotFit(f"{what}: found {', '.join(names[1])}, expected {', '.join(names[0])}")
    for one, other in zip(first, second, strict=True):
        if one.read_bytes() != other.read_bytes():
            raise NotFit(f"{one.name}: {what} has other bytes, expected the same; compare both with diffoscope")
    print(f"release: {what} has the same bytes")


def _check_contents(files: Sequence[Path], clone: Path) -> None:
    """Raise NotFit unless both files hold what is committed, no more and no less."""
    tracked = _output_of("git", "ls-files", "-z", folder=clone).split("\0")[:-1]
    for file in files:
        if file.suffix == ".whl":
            expected, found = set(_expected_in_wheel(tracked, clone)), set(zipfile.ZipFile(file).namelist())
        else:
            with tarfile.open(file) as archive:
                found = {name.partition("/")[2] for name in archive.getnames()}
            expected = {*tracked, "PKG-INFO"}
        wrong = [f"{name} is not in it" for name in sorted(expected - found)]
        wrong += [f"{name} should not be in it" for name in sorted(found - expected)]
        if wrong:
            more = f" and {len(wrong) - 5} more" if len(wrong) > 5 else ""
            raise NotFit(f"{file.name}: {'; '.join(wrong[:5])}{more}; compare with pyproject.toml, tool.hatch.build")
        print(f"release: {file.name}: {len(found)} files, {file.stat().st_size / 1e6:.1f} MB")


def _expected_in_wheel(tracked: Sequence[str], clone: Path) -> Iterator[str]:
    """Yield the name in a wheel of each committed file that belongs there, and of each that the build makes."""
    text = (clone / "pyproject.toml").read_text(encoding="utf-8")
    stem = f"railyard_hpc-{version_of(clone)}"
    included = dict(re.findall(r'^"([^"]+)" = "(railyard/_shipped/[^"]+)"$', text, re.MULTILINE))
    shared = dict(re.findall(r'^"([^"]+)" = "(share/[^"]+)"$', text, re.MULTILINE))
    for name in tracked:
        if name.startswith("railyard/"):
            yield name
        for source, target in included.items():
            if name == source or name.startswith(f"{source}/"):
                yield target + name.removeprefix(source)
        if name in shared:
            yield f"{stem}.data/data/{shared[name]}"
    yield "railyard/_shipped/commit.txt"
    yield from (f"{stem}.dist-info/{name}" for name in MADE)


def _check_by_twine(files: Sequence[Path], scratch: Path) -> None:
    """Raise NotFit if what PyPI would show of the package cannot be shown."""
    _output_of(sys.executable, "-m", "venv", str(scratch / "twine"), folder=scratch)
    python = str(scratch / "twine/bin/python")
    hashed = ("--require-hashes", "--no-deps", "--only-binary", ":all:", "--requirement")
    _output_of(
        python, "-m", "pip", "install", "--quiet", *hashed, str(CLONE / "requirements/release.txt"), folder=scratch
    )
    _output_of(python, "-m", "twine", "check", "--strict", *map(str, files), folder=scratch)
    print("release: twine check has no objection")


# --- use --------------------------------------------------------------------------------------------------------------


def try_file(file: Path) -> None:
    """Install a wheel or sdist for this Python in a new environment, as a reader of README does, and use it there."""
    number = ".".join(map(str, sys.version_info[:3]))
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        _output_of(sys.executable, "-m", "venv", str(folder / "venv"), folder=folder)
        _output_of(str(folder / "venv/bin/pip"), "install", "--quiet", str(file.resolve()), folder=folder)
        _output_of(str(folder / "venv/bin/pip"), "check", folder=folder)
        for said in use([str(folder / "venv/bin/railyard")], folder):
            print(f"release: Python {number}, {file.name}: {said}")


def use(program: Sequence[str], folder: Path) -> Iterator[str]:
    """Call ``program`` as a new user does, in an empty folder, and yield what was seen. Raises NotFit.

    ``program`` is the words that start railyard, such as those of a container; it must see ``folder`` at the same path.
    """
    site = folder / "site"
    outputs = [f"{site}/recordings/dell-c6320/{name}/hpcx/1/OsuBandwidth.out" for name in ("edr", "fdr")]
    link = ("--link", "ib-edr", "--slot", "pcie3-x16")
    steps: tuple[tuple[Sequence[str], int, str, Path], ...] = (
        (("--version",), 0, r"railyard \d+\.\d+\.\d+ \(commit (?:[0-9a-f]{12}|unknown).*\)", folder),
        (("init", str(site), "--published"), 0, r"wrote \d+ files", folder),
        (("judge", outputs[0], *link), 0, "pass: 1 benchmark", site),
        (("judge", outputs[1], *link), 1, "fail: 1 benchmark", site),
        (("detect", "--name", "here"), 0, "(?m)^system: here$", site),
        (("lint", "--system", "dell-c6320"), 0, "", site),
        (("run", "--system", "dell-c6320", "-n", "OsuBandwidth"), 0, "2 tests: 2 pass", site),
        (("report", "-o", "page.html"), 0, "", site),
    )
    for words, code, expected, where in steps:
        said, found = _answer((*program, *words), where)
        match = re.search(expected, said)
        if found != code or match is None:
            raise NotFit(
                f"railyard {' '.join(words)}: found exit code {found} and:\n{said}\nexpected {code} and {expected}"
            )
        if words[0] in ("--version", "judge", "run"):
            yield match[0]
    if "<svg" not in (site / "page.html").read_text(encoding="utf-8"):
        raise NotFit("railyard report -o page.html: found no curve in the page")
    yield "init, detect, lint and report too"


def _answer(words: Sequence[str], folder: Path) -> tuple[str, int]:
    """Return what a command prints, and its exit code; it gets no variable of ours or of Python."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("RAILYARD_", "RFM_", "PYTHON"))}
    done = subprocess.run(
        words, cwd=folder, env=clean, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, check=False,
    )  # fmt: skip
    return done.stdout, done.returncode


def _output_of(*words: str, folder: Path) -> str:
    """Return what a command prints. Raises NotFit with that text if it fails."""
    said, code = _answer(words, folder)
    if code != 0:
        raise NotFit(f"{' '.join(words)}: found exit code {code}, expected 0:\n{said}")
    return said


def _call(*words: str) -> None:
    """Run one of our own commands, which prints for itself."""
    if subprocess.run(words, check=False).returncode != 0:
        raise NotFit(f"{' '.join(words)} failed")


def _beside_python(program: str) -> str:
    return str(Path(sys.executable).with_name(program))


def _pythons() -> Iterator[str]:
    asked = os.environ.get("PYTHONS", "").split()
    for name in asked or PYTHONS:
        program = shutil.which(name if "/" in name or name.startswith("python") else f"python{name}")
        if program is not None and _answer((program, "-c", "import ensurepip"), CLONE)[1] == 0:
            yield program
        elif asked:
            raise NotFit(f'PYTHONS: found no "{name}" that runs and can make a virtual environment')
        else:
            print(f"release: {name} is not on PATH, or cannot make a virtual environment: not tried")


def _refuse_all(found: Iterator[str]) -> None:
    if all_of_them := list(found):
        raise NotFit("\nrelease: ".join(all_of_them))


def main() -> int:
    """Return the exit code: 0 fit, 1 not fit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("metadata", "make"):
        commands.add_parser(name).add_argument("--publish", action="store_true")
    commands.add_parser("try").add_argument("file", type=Path)
    asked = parser.parse_args()
    try:
        if asked.command == "metadata":
            _refuse_all(problems(CLONE, asked.publish))
        elif asked.command == "make":
            make(asked.publish)
        else:
            try_file(asked.file)
    except NotFit as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
