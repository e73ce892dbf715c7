"""Makes the prefixes of the MPI stacks that come as packages: ``.stacks/<stack>`` with ``bin/`` and ``lib/``.

In one environment, the wheels `mpich` and `impi-rt` would overwrite each other (libmpi.so.12, mpiexec, mpirun). So each
has a prefix of its own, and none is in ``.venv``. A prefix is made beside its place and then renamed: it is there
completely, or not at all. Programs in these packages find their parts relative to themselves, so a prefix may be
renamed.

To add one: write an entry in SOURCES, and for a wheel a ``requirements/stacks/<stack>.in``.

MPICH's Fortran library turns each call into the C call of the same name. Releases that share libmpi.so.12 have the same
names, handles and constants (MPICH ABI Compatibility Initiative, from 3.1 on). Tried: the library of 4.0.2 over the
libmpi of 5.0.2. Three of its calls, PMPIX_Delete_error_…, have another name in 5: a program that makes them ends with a
symbol lookup error. An option tells the linker to accept them.

Railyard's own MPI programs are compiled with a stack's compiler wrapper, into a folder such as its ``bin``. A program
is compiled beside its place and then renamed, so it is there completely or not at all. It is compiled again only if its
source or the wrapper's path has changed.

The wheels of a lock: unpacked into a prefix, or kept in a folder that can be carried. Each file has its hash.
"""

import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from railyard.base.errors import RailyardError, SetupError, did_you_mean
from railyard.base.files import hold
from railyard.base.paths import packaged_text, part
from railyard.provision import kept_files


def install_wheels(lock: Path, prefix: Path, *, carried: Path | None = None) -> None:
    """Unpack the wheels of a lock into a prefix: only what it names, each file compared with its hash.

    ``carried`` is a folder of wheels to take them from; None takes them from the index that pip is configured with.
    Raises SetupError with pip's own reason.
    """
    _pip("install", lock, "--ignore-installed", "--no-compile", "--prefix", str(prefix), carried=carried)


def download(lock: Path, folder: Path, *, carried: Path | None = None) -> None:
    """Put the wheels of a lock into a folder. Raises SetupError as ``install``."""
    _pip("download", lock, "--dest", str(folder), carried=carried)


def _pip(verb: str, lock: Path, *words: str, carried: Path | None) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", verb, "--quiet", "--no-input"]
    command += ["--require-hashes", "--no-deps", "--only-binary", ":all:", *words]
    command += ["--requirement", str(lock)]
    command += [] if carried is None else ["--no-index", "--find-links", str(carried)]
    answer = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if answer.returncode != 0:
        raise SetupError(
            f"{lock}: pip could not {verb} it: {last_line(answer.stderr)}; the whole of it is said by: "
            f"{sys.executable} -m pip download --no-deps --require-hashes --dest {tempfile.gettempdir()} -r {lock}"
        )


def last_line(text: str) -> str:
    """Return the last line that says something: where pip and the interpreter put the reason."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"


_LIBRARY = "lib/libmpichfort.so.12"
#: What `use mpi` reads, as NPB does: the module, and those that it uses itself.
_MODULES = ("mpi", "mpi_base", "mpi_constants", "mpi_sizeofs")
#: Paths in a prefix, and the system's own (Debian's libmpich-dev).
FILES: Mapping[str, str] = MappingProxyType(
    {
        _LIBRARY: "/usr/lib/{machine}-linux-gnu/libmpichfort.so.12",
        "include/mpif.h": "/usr/include/{machine}-linux-gnu/mpich/mpif.h",
        **{f"include/{name}.mod": f"/usr/include/{{machine}}-linux-gnu/mpich/{name}.mod" for name in _MODULES},
    }
)
# Debian's Fortran library asks the loader for libmpi by Debian's name: the loader must find the wheel's, never /usr's.
# So the program's search path must also apply to its libraries, as RPATH does and RUNPATH does not. Spack's recipe for
# NPB expects a libmpich.so from an MPI called mpich.
_LINKS = {
    "lib/libmpich.so.12": "libmpi.so.12",
    "lib/libmpich.so": "libmpi.so.12",
    "lib/libmpifort.so": "libmpichfort.so.12",
}
_WRAPPER = """#!/bin/sh
# gfortran with MPICH's Fortran layer (Debian's) and this prefix's own libmpi.
prefix=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
show=
[ "${1:-}" != -show ] || { show=echo; shift; }
exec $show "${MPICH_FC:-gfortran}" "$@" "-I$prefix/include" "-L$prefix/lib" \\
    -Wl,--allow-shlib-undefined -Wl,--disable-new-dtags "-Wl,-rpath,$prefix/lib" -lmpifort -lmpi
"""
STAMP = "railyard-stamp"  # in each prefix: a digest of what it was made from
# If Open MPI is called by an absolute path, it takes that path as `--prefix` and would start <prefix>/bin/orted on the
# other nodes (seen with Debian's 4.1.4 and a symbolic link). So its mpirun is called by its own path. It would then put
# that path's folder, /usr/bin, before all others of PATH, and start its daemons by Debian's srun, under another Slurm
# too (seen with 4.1.4 under Slurm 26.05.3): so it takes no prefix, and is given the path of its daemon.
CALL_OF_THE_SYSTEMS = '#!/bin/sh\nexec {target} "$@"\n'
_OWN_DAEMON = ("--noprefix", "--mca", "orte_launch_agent", "/usr/bin/orted")
# Calls MPI_Get_library_version of a libmpi; the standard allows this before MPI_Init. It runs in a process of its own,
# since a broken library may end it.
VERSION_PROBE = """
import ctypes, sys
text, length = ctypes.create_string_buffer(8192), ctypes.c_int()
code = ctypes.CDLL(sys.argv[1]).MPI_Get_library_version(text, ctypes.byref(length))
sys.stdout.write(text.value.decode(errors="replace"))
sys.exit(code)
"""
#: Executable: its source in ``programs/``.
PROGRAMS = {"railyard-pairs": "pairs.c", "railyard-sharing": "sharing.c"}
FLAGS = ("-O2",)


@dataclass(frozen=True, slots=True)
class Source:
    """Where a stack's prefix comes from: a hashed lock of wheels, files of the system's packages, or both.

    ``system_files`` maps a path in the prefix to the system's own file, with ``{machine}`` left open. A path in
    ``bin/`` becomes a script that calls the file, any other path a symbolic link. ``optional_files`` come with another
    package (compilers) and are used if they are there. ``call_words`` are words with which such a script calls its
    file, before those that it is given. ``library`` is the libmpi in the prefix. ``compiles``: its mpicc compiles
    Railyard's own programs (``railyard.provision.programs``) into its ``bin/``.
    """

    what: str
    library: str
    lock: str | None = None
    system_files: Mapping[str, str] = field(default_factory=dict)
    optional_files: Mapping[str, str] = field(default_factory=dict)
    call_words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    compiles: bool = False


#: Where the locks of wheels are.
LOCKS = "requirements/stacks"
SOURCES: Mapping[str, Source] = MappingProxyType(
    {
        "openmpi": Source(
            what="Debian's Open MPI, with NetPIPE",
            library="lib/libmpi.so.40",
            system_files={
                "bin/mpirun": "/usr/bin/mpirun.openmpi",
                "bin/NPopenmpi": "/usr/bin/NPopenmpi",
                "lib/libmpi.so.40": "/usr/lib/{machine}-linux-gnu/libmpi.so.40",
            },
            # What Spack needs of an external MPI (libopenmpi-dev). It must not be /usr itself: its mpicc may be another
            # MPI's.
            optional_files={
                **{
                    f"bin/{name}": f"/usr/bin/{name}.openmpi"
                    for name in ("mpicc", "mpicxx", "mpic++", "mpiCC", "mpif77", "mpif90", "mpifort", "mpiexec")
                },
                "bin/ompi_info": "/usr/bin/ompi_info",
                "lib/libmpi.so": "/usr/lib/{machine}-linux-gnu/openmpi/lib/libmpi.so",
                "include": "/usr/lib/{machine}-linux-gnu/openmpi/include",
            },
            call_words={"bin/mpirun": _OWN_DAEMON, "bin/mpiexec": _OWN_DAEMON},
            compiles=True,
        ),
        "mpich": Source(
            what="MPICH, the wheel mpich",
            library="lib/libmpi.so.12",
            lock="mpich.txt",
            optional_files=FILES,
            compiles=True,
        ),
        "intelmpi": Source(
            what="Intel MPI and its benchmarks, the wheel impi-rt",
            library="lib/libmpi.so.12",
            lock="intelmpi.txt",
        ),
    }
)


@dataclass(frozen=True, slots=True)
class Status:
    """The state of one prefix: ``missing`` is None if it is complete and from the present lock, else the reason."""

    stack: str
    prefix: Path
    what: str
    missing: str | None
    version: str | None


def status(home: Path, stack: str) -> Status:
    """Return the state of a stack's prefix, with the first line of its library's version.

    Raises RailyardError for a stack that no package provides.
    """
    source, prefix = _source(stack), prefix_of(home, stack)
    missing = why_missing(home, stack)
    version = None
    if missing is None:
        version = " ".join(library_version(prefix / source.library).splitlines()[0].split())
    return Status(stack, prefix, source.what, missing, version)


def prefix_of(home: Path, stack: str) -> Path:
    """Return where a stack's prefix belongs, whether it is there or not."""
    return home / ".stacks" / stack


def why_missing(home: Path, stack: str) -> str | None:
    """Return None if the prefix is complete and from the present lock, else the reason why it is not."""
    source, prefix = _source(stack), prefix_of(home, stack)
    if not prefix.is_dir():
        return "not installed"
    try:
        made_from = (prefix / STAMP).read_text(encoding="utf-8").strip()
    except OSError:
        return f"not made by railyard (it has no {STAMP})"
    if made_from != _key(home, stack, source):
        return "made from another lock or other system files than the present ones"
    if not (prefix / source.library).exists():
        return f"{source.library} is missing"
    return kept_files.find_changed(prefix)


def install(home: Path, stack: str, say: Callable[[str], None]) -> bool:
    """Make a stack's prefix; return False if it is already there and nothing was done.

    ``say`` gets one line before anything that takes time. If two processes do this at once, the second one waits.

    Raises RailyardError for a stack that no package provides, SetupError if the packages cannot be had.
    """
    source, prefix = _source(stack), prefix_of(home, stack)
    if why_missing(home, stack) is None:
        return False
    with _one_at_a_time(prefix.parent, say):
        if why_missing(home, stack) is None:
            return False
        if prefix.exists() and not (prefix / STAMP).exists():
            raise SetupError(
                f"{prefix}: found a folder that railyard did not make (it has no {STAMP}), expected none; "
                f"remove it, or give the system's file another prefix for {stack}"
            )
        again = kept_files.find_changed(prefix)
        say(f"stacks: making {stack} in {prefix} ({source.what}){'' if again is None else f', since {again}'}")
        _remove_leftovers(prefix.parent)
        partial = Path(tempfile.mkdtemp(prefix=f".{stack}.partial-", dir=prefix.parent))
        try:
            partial.chmod(0o755)  # mkdtemp makes it private, but other accounts may run jobs from here
            if source.lock is not None:
                install_wheels(_lock(home, source.lock), partial)
            _point_at_system(stack, source, partial)
            add_wrappers(partial)
            (partial / STAMP).write_text(_key(home, stack, source) + "\n", encoding="utf-8")
            _put_in_place(partial, prefix)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return True


def library_version(library: Path) -> str:
    """Return what MPI_Get_library_version of this libmpi says, without starting MPI. Raises SetupError."""
    environment = os.environ | {"LD_LIBRARY_PATH": str(library.parent)}
    answer = subprocess.run(
        [sys.executable, "-c", VERSION_PROBE, str(library)],
        env=environment,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if answer.returncode != 0 or not answer.stdout.strip():
        raise SetupError(
            f"{library}: MPI_Get_library_version could not be called ({last_line(answer.stderr)}); "
            f"remove {library.parents[1]} and type: railyard stacks install"
        )
    return answer.stdout


def _source(stack: str) -> Source:
    try:
        return SOURCES[stack]
    except KeyError:
        raise RailyardError(f'no package gives the stack "{stack}"; {did_you_mean(stack, SOURCES)}') from None


def _lock(home: Path, name: str) -> Path:
    return part(home, LOCKS) / name


def _key(home: Path, stack: str, source: Source) -> str:
    """Return a digest of what a prefix is made from: its lock and the list of system files."""
    files = _system_files(source)
    listed = repr(sorted(files.items())).encode() if files else b""
    listed += repr(sorted(source.call_words.items())).encode() if source.call_words else b""
    if source.lock is None:
        return hashlib.sha256(listed).hexdigest()
    lock = _lock(home, source.lock)
    try:
        return hashlib.sha256(lock.read_bytes() + listed).hexdigest()
    except OSError as error:
        raise SetupError(
            f"{lock}: cannot be read ({error.strerror}), expected the lock of the stack {stack}; "
            "restore it from Railyard's own copy, or install Railyard again"
        ) from None


@contextmanager
def _one_at_a_time(folder: Path, say: Callable[[str], None]) -> Iterator[None]:
    """Lock the folder of the prefixes; the lock ends with the process, so none is left behind."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        hold(descriptor, say, f"stacks: another process is making a prefix in {folder}; waiting for it")
        yield
    finally:
        os.close(descriptor)


def _remove_leftovers(folder: Path) -> None:
    """Remove what killed installations left; the folder's lock is held, so nobody else works there."""
    for pattern in (".*.partial-*", ".*.old-*"):
        for leftover in folder.glob(pattern):
            shutil.rmtree(leftover, ignore_errors=True)


def _system_files(source: Source) -> dict[str, str]:
    machine = platform.machine()
    optional = {name: path.format(machine=machine) for name, path in source.optional_files.items()}
    return {
        **{name: path.format(machine=machine) for name, path in source.system_files.items()},
        **{name: path for name, path in optional.items() if Path(path).exists()},
    }


def _point_at_system(stack: str, source: Source, prefix: Path) -> None:
    """Fill a prefix with scripts and links to the system's own files. Raises SetupError if one is not there."""
    for name, target in _system_files(source).items():
        if not Path(target).exists():
            raise SetupError(f"the stack {stack} needs {target}, which is not there; type: sh ci/needs.sh")
        place = prefix / name
        place.parent.mkdir(exist_ok=True)
        if place.parent.name == "bin":
            words = shlex.join([target, *source.call_words.get(name, ())])
            place.write_text(CALL_OF_THE_SYSTEMS.format(target=words), encoding="utf-8")
            place.chmod(0o755)
        else:
            place.symlink_to(target)


def _put_in_place(partial: Path, prefix: Path) -> None:
    """Rename a complete prefix to its place. An older one is moved first, since rename does not replace a folder."""
    if prefix.exists():
        aside = Path(tempfile.mkdtemp(prefix=f".{prefix.name}.old-", dir=prefix.parent))
        prefix.rename(aside / prefix.name)
        partial.rename(prefix)
        shutil.rmtree(aside, ignore_errors=True)
    else:
        partial.rename(prefix)


def add_wrappers(prefix: Path) -> None:
    """Add the compiler wrappers, and the names that they link, to a prefix that has both of FILES."""
    if not all((prefix / name).exists() for name in FILES):
        return
    for name, target in _LINKS.items():
        (prefix / name).symlink_to(target)
    for name in ("mpifort", "mpif90", "mpif77"):
        place = prefix / "bin" / name
        place.write_text(_WRAPPER, encoding="utf-8")
        place.chmod(0o755)


def build(compiler: Path, folder: Path, say: Callable[[str], None]) -> bool:
    """Compile every program into a folder; return False if all of them are already from this source and wrapper.

    ``say`` gets one line before anything that takes time. Raises SetupError, with the compiler's own last line, if the
    wrapper is missing or fails.
    """
    made = False
    for program, source in PROGRAMS.items():
        text = packaged_text(f"provision/programs/{source}")
        key = hashlib.sha256((text + repr((str(compiler), FLAGS))).encode()).hexdigest()
        stamp = folder / f"{program}.sha256"
        if (folder / program).is_file() and stamp.is_file() and stamp.read_text(encoding="ascii").strip() == key:
            continue
        say(f"programs: compiling {program} with {compiler}")
        _compile(compiler, text, folder / program)
        stamp.write_text(key + "\n", encoding="ascii")
        made = True
    return made


def _compile(compiler: Path, source: str, program: Path) -> None:
    program.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{program.name}-", dir=program.parent) as scratch:
        file, partial = Path(scratch, "program.c"), Path(scratch, program.name)
        file.write_text(source, encoding="utf-8")
        words = [str(compiler), *FLAGS, "-o", str(partial), str(file)]
        try:
            answer = subprocess.run(
                words, env=os.environ | {"LC_ALL": "C"}, capture_output=True, text=True, errors="replace", check=False
            )
        except OSError as error:
            raise SetupError(
                f"{compiler}: found no compiler that runs ({error.strerror}), expected the mpicc of an MPI stack; "
                "type: sh ci/needs.sh"
            ) from None
        if answer.returncode != 0 or not partial.is_file():
            said = [line.strip() for line in (answer.stderr or answer.stdout).splitlines() if line.strip()]
            raise SetupError(
                f"{compiler}: could not compile {program.name}: {said[-1] if said else 'it said nothing'}; "
                "it needs a C compiler and the headers of its MPI: type sh ci/needs.sh"
            )
        partial.replace(program)
