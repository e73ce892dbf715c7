"""Whether the intended program ran: one proof of launcher, library and environment, causes before consequences.

It finds a launcher of another library, a benchmark that is linked to another one, an output that names another one, a
library for messages (UCX, libfabric, …) that was loaded from elsewhere, processes that did not find one another, and
variables that have other values in the benchmark's own process than planned.
"""

import re
from collections.abc import Container, Iterator, Sequence

from railyard.base.clean_text import one_line
from railyard.base.errors import UNFIT_EXIT
from railyard.benchmarks.table import micro
from railyard.benchmarks.table.micro import PACKAGES as TOOLS
from railyard.job import environment, mpi_identity
from railyard.job.case import Case, Evidence
from railyard.job.mpi_identity import IntendedMpi
from railyard.parsers.output import Table
from railyard.stacks import linkage
from railyard.stacks import table as stacks_table
from railyard.stacks.file_view import HOST, FileView, ImageFiles
from railyard.verdict.wording import identity as words

# "This test requires exactly two processes" (OSU), "Need at least two processes (only given 1)" (NetPIPE),
# "# !! Benchmark PingPong invalid for 1 processes !!" (IMB), "Need at least 4 processes for these tests" (HPL)
_TOO_FEW = re.compile(
    r"^.{0,40}(?:requires (?:exactly|at least) \w{1,10} processes|need at least \w{1,10} processes|"
    r"invalid for 1 processes).{0,80}$",
    re.IGNORECASE | re.MULTILINE,
)


def why_not_meant(case: Case, evidence: Evidence, tables: Sequence[Table]) -> str | None:
    """Return a sentence about the first of launcher, libraries and environment that is not the intended one; else None.

    ``tables``: all of the output. A stand-in of a rehearsal is not a library and names none, so it is not checked.
    """
    return (
        _launcher(case, evidence)
        or (None if evidence.rehearsed else _of_another_library(case, evidence))
        or _runs_of_their_own(case, evidence, tables)
        or _variable(case, evidence)
    )


def remarks(case: Case, evidence: Evidence, answered: Container[str]) -> tuple[str, ...]:
    """Return remarks: nodes whose benchmark was not seen, variables that nobody planned, libraries that prove nothing.

    ``answered`` are the nodes that the job is taken to have run on: rule 1 says more about any other node.
    """
    if evidence.environment is None or evidence.exit_code != 0:
        return ()
    nodes = [node for node in case.launch.nodes if node in answered]
    libraries = () if evidence.rehearsed else tuple(_unproven(evidence.environment, _places(case, evidence), nodes))
    if not environment.planned_variables(case.launch):
        return libraries
    # Of stand-ins, all ranks but the first end at once; a benchmark's ranks end together.
    unread = () if evidence.rehearsed else environment.nodes_without_benchmark(evidence.environment, case.launch)
    nodes = [node for node in unread if node in answered]
    unseen = [words.environment_unread(nodes)] if nodes else []
    unplanned = environment.find_unplanned(evidence.environment, case.launch)
    return (*unseen, *map(words.unplanned_variable, unplanned), *libraries)


def _unproven(
    found: Sequence[environment.RankEnvironment], places: environment.Places, nodes: Sequence[str]
) -> Iterator[str]:
    """Yield what is not proven of the libraries that processes loaded."""
    doubts = environment.doubts(found, places, nodes)
    if doubts.unread:
        yield words.libraries_unread(doubts.unread)
    yield from (words.library_unproven(title, paths) for title, paths in doubts.paths.items())


def _variable(case: Case, evidence: Evidence) -> str | None:
    other = environment.why_other(evidence.environment or (), case.launch)
    return None if other is None else words.other_variable(other)


def _of_another_library(case: Case, evidence: Evidence) -> str | None:
    return (
        _library(case, evidence) or _another_mpi(case, evidence) or _other_library(case, evidence) or _image(evidence)
    )


def _other_library(case: Case, evidence: Evidence) -> str | None:
    """Return which library a process loaded from elsewhere; None if none."""
    if not evidence.environment:
        return None
    other = environment.why_other_libraries(evidence.environment, _places(case, evidence))
    return None if other is None else words.other_library(other)


def _image(evidence: Evidence) -> str | None:
    """Return how the image differs between nodes; None if it does not."""
    unlike = None if evidence.image is None else evidence.image.find_unlike()
    if evidence.image is None or unlike is None:
        return None
    return words.other_image(str(evidence.image.inside.file), *((each.node, each.size) for each in unlike))


def _files(evidence: Evidence) -> FileView:
    """Return the files as the run's programs see them: those of an image as the run saw them there."""
    if evidence.image is None:
        return HOST
    return evidence.image.files or ImageFiles.of((), ())


def _places(case: Case, evidence: Evidence) -> environment.Places:
    """Return where the run's libraries should be, by the prefixes of its stack and of the MPI that starts it."""
    system, home = case.site.system, case.site.home
    entries = [system.stacks[name] for name in dict.fromkeys((case.stack, system.starter(case.stack)))]
    prefixes = dict.fromkeys(filter(None, (case.launch.prefix, case.launch.library_prefix)))
    named = dict.fromkeys(entry.path(folder, home) for entry in entries for folder in entry.libraries)
    return environment.Places(tuple(prefixes), tuple(named), case.launch.lock, _files(evidence))


def _launcher(case: Case, evidence: Evidence) -> str | None:
    meant = case.launch.mpi
    if meant is None or not evidence.launcher:
        return None
    other = mpi_identity.why_other_launcher(evidence.launcher, meant.stack, meant.version)
    return None if other is None else words.other_launcher(other)


def _library(case: Case, evidence: Evidence) -> str | None:
    """Return why the benchmark is not linked to its stack's MPI; None if it is, or if it is a script."""
    said, exit_code = evidence.linked, evidence.exit_code
    if said is None or exit_code == UNFIT_EXIT:  # the job's own checks ended it earlier, with a better sentence
        return None
    if not said.strip() and exit_code:  # the job ended before it asked ldd: rule 1 says why
        return None
    found, files = linkage.parse(said), _files(evidence)
    wanted = stacks_table.STACKS[case.stack]
    tool = TOOLS.get(micro.find(case.benchmark).tool)
    if tool is not None and not tool.uses_mpi and not wanted.pair:  # STREAM: only memory, whatever the stack
        return None
    if found and wanted.by_mpi and case.launch.mpi is not None:
        sonames = stacks_table.STACKS[case.launch.mpi.stack].sonames
        why = linkage.why_wrong(case.benchmark, found, sonames, case.launch.prefix, files)
        return why or linkage.why_without(case.benchmark, found, wanted.sonames, case.launch.library_prefix, files)
    if found:
        return linkage.why_wrong(case.benchmark, found, wanted.sonames, case.launch.prefix, files)
    # A script (one calls the system's own NetPIPE) has no libraries, and does not show what it calls.
    if linkage.NO_LIBRARIES in said:
        return None
    return words.unknown_linkage(case.benchmark, one_line(said))


def _another_mpi(case: Case, evidence: Evidence) -> str | None:
    """Return the sentence about an output that names another MPI; in a replay only its library counts."""
    meant = case.launch.mpi if evidence.played is None else IntendedMpi(case.stack)
    if meant is None or evidence.exit_code == UNFIT_EXIT:
        return None
    other = mpi_identity.why_other(f"{evidence.stdout}\n{evidence.stderr}", meant)
    return None if other is None else words.other_mpi(other)


def _runs_of_their_own(case: Case, evidence: Evidence, tables: Sequence[Table]) -> str | None:
    """Return why each process was a run of its own, by what several of them printed; None if they ran together.

    If one process says so, the benchmark may have wrong options; if two do, both were first ranks.
    """
    given = len(case.launch.nodes) * case.ranks_per_node
    of_its_own = micro.find(case.benchmark).every_node  # one run per node, as intended
    if case.launch.mpi is None or given < 2 or of_its_own or case.site.system.provider == "host":
        return None
    single = sum(table.context.get("processes", table.context.get("ranks")) == 1 for table in tables)
    refusals = _TOO_FEW.findall(f"{evidence.stdout}\n{evidence.stderr}")
    if max(single, len(refusals)) < 2:
        return None
    refusal = one_line(refusals[0]) if len(refusals) >= single else ""
    return words.separate_runs(given, refusal, max(single, len(refusals)))
