"""Finds Spack, asks for its version, runs its commands with their output passed through, and counts the calls.

If Spack failed, one sentence says why: by a table of what it prints, tried in order, from narrow to wide.
"""

import os
import re
import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from railyard.base.errors import RailyardError, SetupError
from railyard.provision.spack import overlay, program
from railyard.provision.spack.overlay import ALONE

#: How many lines of a build's log follow the sentence of a failed build.
LOG_LINES = 20

#: How GCC, Clang, GNU Fortran, GNU ld, GNU make and autoconf begin or end the line of an error.
_COMPILERS_ERROR = re.compile(
    r"\b(?:fatal )?error: |^Error: |undefined reference to|^collect2: |cannot find -l|No rule to make target"
)


@dataclass(frozen=True, slots=True)
class Cause:
    """One kind of failure: how its output is recognised, and the sentence made from the match and the whole text.

    ``everywhere``: it comes from the host, its network or Spack itself, and meets every environment.
    """

    name: str
    pattern: re.Pattern[str]
    sentence: Callable[[re.Match[str], str], str]
    everywhere: bool = False


def _conflict(match: re.Match[str], text: str) -> str:
    reasons = [
        _one_line(one).rstrip(".") for one in re.findall(r"^\s*[0-9]+\. (.+)$", text[match.end() :], re.MULTILINE)
    ]
    # If a package cannot be had at all, every virtual lacks a provider: 34 reasons follow the one that matters.
    own = [reason for reason in reasons if not reason.startswith("Cannot find a valid provider")] or reasons
    pairs = [reason for reason in own if "' and '" in reason] or own
    said = "; and ".join(pairs[:2]) or _line_of(match, text)
    return (
        f"nothing satisfies all that is asked for: {said}; change one of them in spack_envs/ or in the system's overlay"
    )


def _fetch(match: re.Match[str], text: str) -> str:
    return (
        f"the source of {match['what']} cannot be fetched: no mirror has it and its own place cannot be reached; "
        f"on a machine with network, type: railyard spack mirror create FOLDER; bring the folder here and name it in "
        f"the overlay under mirrors"
    )


def _checksum(match: re.Match[str], text: str) -> str:
    found = re.search(r"Expected (?P<wanted>[0-9a-f]{16,}).{0,40}?got (?P<got>[0-9a-f]{16,})", text, re.DOTALL)
    numbers = f": found {found['got'][:16]}…, expected {found['wanted'][:16]}…" if found else ""
    return (
        f"the checksum of {Path(match['what']).name} is wrong{numbers}; the file is incomplete or not the release: "
        "remove it from the mirror or the cache and fetch it again"
    )


def _build(match: re.Match[str], text: str) -> str:
    package, log = match["what"], Path(match["log"])
    lines = _lines(log)
    name = re.escape(package.split("@")[0])
    phases = re.findall(rf"^\[ \] \S+ {re.escape(package)} (\w+) ", text, re.MULTILINE)
    phases += [] if phases else re.findall(rf"^==> {name}: Executing phase: '(\w+)'", "\n".join(lines), re.MULTILINE)
    others = len(re.findall(r"^\S+/[a-z0-9]{32}: \S+$", text[match.end() :], re.MULTILINE))
    more = f" (and of {others} more)" if others else ""
    where = f" in its phase {phases[-1]}" if phases else ""
    # Builds of several jobs print warnings and end other files after the error: its line may be far above the end.
    errors = [line.strip() for line in lines[:-LOG_LINES] if _COMPILERS_ERROR.search(line)]
    first = f" {_one_line(errors[0])};" if errors else ""
    said = "".join(f"\n    {line}" for line in lines[-LOG_LINES:])
    ends = ", which ends with:" if said else ""
    return f"the build of {package}{more} failed{where}{':' if first else ';'}{first} its log is {log}{ends}{said}"


CAUSES: tuple[Cause, ...] = (
    Cause(
        "disk full",
        re.compile(r"No space left on device|Disk quota exceeded"),
        lambda match, text: (
            f"{match[0].lower()}: {_line_of(match, text)}; make room in the install tree, "
            "Spack's stage (config:build_stage) and cache, and build again: finished packages are kept"
        ),
        everywhere=True,
    ),
    Cause(
        "lock timeout",
        re.compile(
            r"Timed out waiting for a (?P<kind>\w+) lock after (?P<time>[^\n]+?)\.\s*\n[^\n]*on file: (?P<what>\S+)"
        ),
        lambda match, text: (
            f"another Spack has held {match['what']} for longer than this one waits ({match['time']}); let it end, "
            "or end the process that hangs, and build again"
        ),
        everywhere=True,
    ),
    Cause(
        "solver",
        re.compile(r"cannot bootstrap the \"(?P<what>[\w-]+)\" Python module"),
        lambda match, text: (
            f"Spack's own {match['what']} is not there and cannot be fetched: type railyard spack bootstrap, which "
            "gets it with pip (--from FOLDER: from wheels that you carried here), or set SPACK_PYTHON to a Python that "
            "has it; docs/howto/spack.md, An air-gapped site"
        ),
        everywhere=True,
    ),
    Cause("checksum", re.compile(r"checksum failed for (?P<what>/\S+)"), _checksum),
    Cause(
        "mirror",
        # spack mirror create: the list is the end of the output
        re.compile(r"Failed downloads:\s*\n(?P<what>(?:[ \t]*\S+@\S+\s*)+)"),
        lambda match, text: (
            f"{', '.join(match['what'].split())} cannot be fetched: the places where they come from cannot be reached; "
            "what could be fetched is in the folder and is kept: type it again on a machine with network"
        ),
    ),
    Cause(
        "fetch",
        re.compile(
            r"All fetchers failed for (?:spack-stage-)?(?P<what>[a-z0-9][\w.+-]*?)(?:-[a-z0-9]{32})?(?=[\s'\"]|$)"
        ),
        _fetch,
        everywhere=True,
    ),
    Cause(
        "permission",
        # Only Spack's own error lines: a build's log may contain such words for any reason.
        re.compile(
            r"^(?:==> Error:|\s*(?:PermissionError|OSError):)[^\n]*"
            r"(?:Permission denied|[Rr]ead-only file|not writable)[^\n]*",
            re.MULTILINE,
        ),
        lambda match, text: (
            f"{_without_prefix(match[0])}; the install tree and its parents must be writable where "
            "you build: choose another in the overlay (config:install_tree:root)"
        ),
        everywhere=True,
    ),
    Cause(
        "locks",
        re.compile(r"^[^\n]*(?:No locks available|\[Errno 38\] Function not implemented)[^\n]*", re.MULTILINE),
        lambda match, text: (
            f"{_without_prefix(match[0])}; the install tree's file system has no file locks: "
            "choose another, or set config:locks in the overlay and never build twice at once"
        ),
        everywhere=True,
    ),
    Cause(
        "build",
        # hpl@2.3/ixekixkersjvxdzg2vpzbm7iicze6aqr: /tmp/…/spack-stage-hpl-2.3-ixekixk….log   (Spack 1.2; 1.1 the same)
        re.compile(r"packages failed to install:\s*\n(?P<what>\S+?)/[a-z0-9]{32}: (?P<log>\S+)"),
        _build,
    ),
    Cause(
        "conflict",
        re.compile(
            r"failed to concretize|cannot match any known version|No version exists that satisfies [^\n]*\n[^\n]*"
        ),
        _conflict,
    ),
    Cause(
        "api",
        re.compile(r"repository '(?P<what>[^']+)': (?P<why>Package API v[0-9.]+ is not supported[^\n]*)"),
        lambda match, text: (
            f"the package repository {match['what']} does not fit this Spack: {_one_line(match['why'])}; "
            "type: railyard spack bootstrap, which takes Spack and its packages at commits that fit"
        ),
        everywhere=True,
    ),
    Cause(
        "repository",
        re.compile(r"No repo\.yaml found in '(?P<what>[^']+)'"),
        lambda match, text: (
            f"the package repository {match['what']} is missing; bring it there, or type: railyard spack bootstrap"
        ),
        everywhere=True,
    ),
    Cause(
        "no package",
        re.compile(r"Package '(?P<what>[^']+)' not found|since '(?P<other>[^']+)' does not exist"),
        lambda match, text: (
            f"no package repository has {match['what'] or match['other']}; "
            "is spack-packages there (railyard spack bootstrap), and spack_envs/repo whole?"
        ),
    ),
)


def explain(text: str, command: str) -> str:
    """Return the cause of a failed call in one sentence, with what to do; Spack's first error if no cause fits."""
    for cause in CAUSES:
        match = cause.pattern.search(text)
        if match:
            return f"spack {command}: {cause.sentence(match, text)}"
    return f"spack {command}: {_first_error(text)}"


def holds_everywhere(text: str) -> bool:
    """Return whether the cause of a failed call would meet every other environment of this host too."""
    return next((cause.everywhere for cause in CAUSES if cause.pattern.search(text)), False)


def _first_error(text: str) -> str:
    errors = [line for line in text.splitlines() if "Error" in line]
    lines = [line for line in text.splitlines() if line.strip()]
    return _without_prefix(errors[0] if errors else lines[-1] if lines else "it failed and printed nothing")


def _without_prefix(line: str) -> str:
    """Return a line without Spack's prefix."""
    return _one_line(line.replace("==> Error:", ""))


def _one_line(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 300 else f"{words[:297]}..."


def _line_of(match: re.Match[str], text: str) -> str:
    start = text.rfind("\n", 0, match.start()) + 1
    end = text.find("\n", match.end())
    return _without_prefix(text[start : end if end >= 0 else len(text)])


def _lines(log: Path) -> list[str]:
    try:
        return log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


#: The first release with package API v2.4 and the `toolchains` section; tried: 1.2.0.dev0.
OLDEST = (1, 1)
_VERSION = re.compile(r"^(?P<version>(?P<major>[0-9]+)\.(?P<minor>[0-9]+)\S*)")


class SpackError(RailyardError):
    """Spack failed: one sentence that says what, where and what to do.

    ``log`` is the file with all that it printed. ``everywhere``: no environment can be built here, so there is no need
    to try another one.
    """

    def __init__(self, sentence: str, log: Path | None = None, *, everywhere: bool = False) -> None:
        super().__init__(sentence)
        self.log = log
        self.everywhere = everywhere


@dataclass
class Spack:
    """A Spack to call. ``say`` gets each line that it prints, ``calls`` lists what was run, in order.

    An environment is what the site's files say, whoever builds it. Neither the user's own configuration (~/.spack) nor
    the host's (/etc/spack) is used, unless the system's file says so; then it is in the environment's key. The
    configuration in Spack's own folder (etc/spack) counts as a part of that Spack, like its version and its packages.
    ``isolation`` are the variables for that.
    """

    program: str
    say: Callable[[str], None]
    verbose: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)
    #: Descriptors that its processes inherit: a lock that must last as long as they do.
    keeps: tuple[int, ...] = ()
    isolation: Mapping[str, str] = field(default_factory=lambda: dict(ALONE))
    calls: list[tuple[str, ...]] = field(default_factory=list)

    def version(self) -> str:
        """Return its version, ``1.2.0.dev0 (commit)``. Raises SpackError if it is too old or prints none."""
        text = self.output(["--version"]).strip()
        found = _VERSION.match(text)
        if found is None:
            raise SpackError(f"{self.program} --version: found {text[:80]!r}, expected a version number")
        if (int(found["major"]), int(found["minor"])) < OLDEST:
            raise SpackError(
                f"{self.program}: found Spack {found['version']}, expected {OLDEST[0]}.{OLDEST[1]} or newer "
                f"(package API v2); type: railyard spack bootstrap, or put a newer one on PATH"
            )
        return text

    def output(self, words: Sequence[str]) -> str:
        """Return what a short command prints on standard output. Raises SpackError with the reason if it fails."""
        self._note(words)
        try:
            done = subprocess.run(
                [self.program, *words], capture_output=True, text=True, errors="replace", check=False, env=self._env()
            )
        except OSError as error:
            raise self._not_started(error) from None
        if done.returncode != 0:
            text = done.stdout + done.stderr
            raise SpackError(explain(text, _format_words(words)), everywhere=holds_everywhere(text))
        return done.stdout

    def run(self, words: Sequence[str], log: Path, say: Callable[[str], None] | None = None) -> str:
        """Run a long command; its output goes line by line to ``say`` and into ``log``; return all of it.

        If ``say`` is None, this Spack's is used. Raises SpackError if the command fails, with the cause that its output
        names.
        """
        self._note(words)
        try:
            code, text = self._stream_call(words, log, say or self.say)
        except OSError as error:
            raise SetupError(
                f"{error.filename or log}: {(error.strerror or str(error)).lower()}, expected to write there what "
                f"Spack prints; make room"
            ) from None
        if code != 0:
            sentence = f"{explain(text, _format_words(words))} (all of it: {log})"
            raise SpackError(sentence, log, everywhere=holds_everywhere(text))
        return text

    def _stream_call(self, words: Sequence[str], log: Path, say: Callable[[str], None]) -> tuple[int, str]:
        lines: list[str] = []
        with log.open("a", encoding="utf-8") as stream:
            stream.write(f"{self._line(words)}\n")
            stream.flush()
            try:
                # Start it beside its log: some builds leave files in the folder where they start (HPL's autoconf:
                # configure.…). PATH may name the program relative to this folder.
                child = subprocess.Popen(
                    [os.path.abspath(self.program), *words], cwd=log.parent, env=self._env(), pass_fds=self.keeps,
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                    errors="replace",
                )  # fmt: skip
            except OSError as error:
                raise self._not_started(error) from None
            with child:
                assert child.stdout is not None
                for line in child.stdout:
                    lines.append(line)
                    stream.write(line)
                    say(line.rstrip("\n"))
        return child.returncode, "".join(lines)

    def _not_started(self, error: OSError) -> SetupError:
        why = (error.strerror or str(error)).lower()
        return SetupError(f"{self.program}: {why}, expected a Spack program; type: railyard spack bootstrap")

    def _note(self, words: Sequence[str]) -> None:
        self.calls.append(tuple(words))
        if self.verbose:
            self.say(self._line(words))

    def _line(self, words: Sequence[str]) -> str:
        """Return a call in a form that a person can type again."""
        told = [f"{name}={shlex.quote(text)}" for name, text in {**self.isolation, **self.environment}.items() if text]
        return " ".join(["$", *told, shlex.join([self.program, *words])])

    def _env(self) -> dict[str, str]:
        # An environment that is active in the user's shell would win over `-e`.
        dropped = ("SPACK_ENV", "SPACK_ENV_VIEW", *ALONE)
        kept = {name: text for name, text in os.environ.items() if name not in dropped}
        return {**kept, "SPACK_COLOR": "never", **self.isolation, **self.environment}


def find(
    home: Path,
    say: Callable[[str], None],
    verbose: bool = False,
    environment: Mapping[str, str] | None = None,
    keeps: tuple[int, ...] = (),
    scopes: Sequence[str] = (),
) -> Spack:
    """Return the Spack that builds for a site. Raises SetupError if there is none, with how to get one.

    ``scopes`` are those of Spack's local configuration that it reads.
    """
    found = program.demand_program(home)
    isolation = overlay.variables(home, scopes)
    return Spack(found, say, verbose, {**program.variables(home), **(environment or {})}, keeps, isolation)


def _format_words(words: Sequence[str]) -> str:
    return " ".join(words)
