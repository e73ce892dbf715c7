"""How far a build is: which packages it has to build, about how long that takes, and a line for each finished one."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from railyard.base.wording import count_of, listing
from railyard.provision.spack.locks import Lock, Spec

#: Seconds that Spack 1.2 needs on two cores to solve one environment of spack_envs/, and to build each package. Source:
#: our own builds of the environments openmpi and mpich on the virtual cluster, Debian 12, npb with the classes S and W;
#: each package was timed by itself.
SOLVING_S = 20
SECONDS = {
    "compiler-wrapper": 1, "gcc-runtime": 1, "hpl": 30, "intel-mpi-benchmarks": 60, "netpipe": 3, "npb": 135,
    "osu-micro-benchmarks": 60, "perftest": 30,
}  # fmt: skip
#: "[+]  3kkp3m4      ^gcc-runtime@12.2.0 …", as `spack concretize` lists installed packages.
_INSTALLED = re.compile(r"^\[[+^]\]\s+(?P<hash>[a-z0-9]{7})\s+\^?\S+@", re.MULTILINE)
#: "[+] 3cdr46f osu-micro-benchmarks@7.4 /prefix (2m43s)", as `spack install` reports a finished package.
_ENDED = re.compile(r"^\[\+\] (?P<hash>[a-z0-9]{7}) (?P<spec>\S+) ")


def to_build(lock: Lock, listed: str) -> tuple[Spec, ...]:
    """Return the packages that Spack has to build: those of the lock that are neither external nor installed.

    ``listed`` is what `spack concretize` printed. It is empty for a committed lock: then all packages count, which is
    the most that can be.
    """
    installed = {match["hash"] for match in _INSTALLED.finditer(listed)}
    return tuple(spec for spec in lock.specs.values() if spec.external is None and spec.hash[:7] not in installed)


def promise(specs: tuple[Spec, ...]) -> str:
    """Return the line printed before a build: how many packages, and about how long that takes on two cores."""
    if not specs:
        return "all packages are installed already"
    unknown = sorted({spec.name for spec in specs if spec.name not in SECONDS})
    names = listing(unknown) if len(unknown) <= 3 else f"{', '.join(unknown[:3])} …"
    many = f"{count_of(len(specs), 'package')} to build"
    if len(unknown) == len(specs):
        return f"{many}; how long {'it takes' if len(specs) == 1 else 'they take'} is not known: {names}"
    about = f"{many}, about {duration(sum(SECONDS.get(spec.name, 0) for spec in specs))} on two cores"
    if not unknown:
        return about
    return f"{about}, and what {count_of(len(unknown), 'other')} {'takes' if len(unknown) == 1 else 'take'}: {names}"


def duration(seconds: float) -> str:
    """Return a number of seconds for a person: ``40 s``, ``5 min``."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


@dataclass
class Progress:
    """Gets each line that Spack prints, and says one for each package that is built."""

    specs: tuple[Spec, ...]
    say: Callable[[str], None]
    clock: Callable[[], float] = time.monotonic
    _start: float = field(init=False)
    _done: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self._start = self.clock()

    def line(self, text: str) -> None:
        """Pass a line on. If it ends a package that was to be built, say how far the build is."""
        self.say(text)
        ended = _ENDED.match(text)
        if ended is None or all(spec.hash[:7] != ended["hash"] for spec in self.specs):
            return
        self._done += 1
        elapsed = duration(self.clock() - self._start)
        self.say(f"spack:   {self._done} of {len(self.specs)} built, after {elapsed}: {ended['spec']}")
