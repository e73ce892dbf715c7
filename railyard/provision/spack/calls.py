"""Finds Spack, asks for its version, runs its commands with their output passed through, and counts the calls."""

import os
import re
import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from railyard.base.errors import RailyardError, SetupError
from railyard.provision.spack import failures, program, site_configuration
from railyard.provision.spack.site_configuration import ALONE

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
            raise SpackError(failures.explain(text, _format_words(words)), everywhere=failures.holds_everywhere(text))
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
            sentence = f"{failures.explain(text, _format_words(words))} (all of it: {log})"
            raise SpackError(sentence, log, everywhere=failures.holds_everywhere(text))
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
    isolation = site_configuration.variables(home, scopes)
    return Spack(found, say, verbose, {**program.variables(home), **(environment or {})}, keeps, isolation)


def _format_words(words: Sequence[str]) -> str:
    return " ".join(words)
