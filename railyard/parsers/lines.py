"""What every parser does with a line before it knows the tool: number it, clean it, read its cells, see an error."""

import math
import re
from dataclasses import dataclass

BINARY_MB = 2**20 / 10**6  # MB/s in one MiB/s: IMB up to 4.x and NetPIPE up to 4 print MiB/s under the name of MB

# "Mon Feb 19 15:13:08 2018[1,0]<stdout>:" from mpirun --tag-output --timestamp-output; colours of NetPIPE 5
_TAG = re.compile(
    r"(?:[A-Z][a-z]{2} [A-Z][a-z]{2} [ 0-9][0-9] [0-9]{2}:[0-9]{2}:[0-9]{2} [0-9]{4})?"
    r"\[[0-9]{1,9},[0-9]{1,9}\]<std(?:out|err|diag)>: ?|\x1b\[[0-9;]{0,12}m"
)
_NUMBER = re.compile(r"\A[+-]?[0-9]{1,24}(?:\.[0-9]{1,24})?(?:[eE][+-]?[0-9]{1,3})?\Z")
_NOT_A_NUMBER = re.compile(r"\A[+-]?(?:nan|inf|infinity)\Z", re.IGNORECASE)

# What a launcher, an MPI library, a scheduler or a shell prints when a run is over before its time.
_FAILURE = re.compile(
    r"BAD TERMINATION OF|KILLED BY SIGNAL|=   EXIT CODE|EXIT STRING|exited on signal|terminated with signal"
    r"|mpi(?:run|exec) noticed|mpi(?:run|exec): killing|mpi(?:run|exec) was unable|mpi(?:run|exec) detected that"
    r"|prterun (?:noticed|detected|was unable)|(?:PRTE|ORTE|orterun) (?:has lost|was unable|noticed)"
    r"|process(?:es)? (?:killed|aborted)|total processes killed"
    r"|Segmentation fault|Bus error|Caught signal|Signal: .{0,60}\([0-9]+\)|Signal code:|core dumped"
    r"|MPI_ABORT was invoked|MPI_Abort|Fatal error in|\bAbort\([0-9]+\)|aborting job|[Aa]bort(?:ed|ing)\b"
    r"|An error occurred in|MPI_ERRORS_ARE_FATAL|MPI_ERR_[A-Z]+|Assertion .{0,200}failed"
    r"|error while loading shared libraries|command not found|could not (?:find|access|execute)"
    r"|srun: error|slurmstepd: error|DUE TO TIME LIMIT|CANCELLED AT|oom-kill|Out [Oo]f [Mm]emory|\bKilled\b"
    r"|UCX +(?:ERROR|FATAL)|error polling|REMOTE ACCESS ERROR|RETRY EXCEEDED|[Rr]etry count exceeded"
    r"|Integrity check failed|DATA VALIDATION ERROR|[Ii]nvalid benchmark name|NO SUCCESSFUL EXECUTIONS"
    r"|readv failed|unreachable|Forwarding signal|failed status|handle_cq_error"
    r"|flux-job: .{0,80}(?:exception|failed)|task\(s\) .{0,80}[Ee]xit"
)


@dataclass(frozen=True, slots=True)
class Line:
    """One line: 1-based number, text without its end, ``words`` of it, and whether a newline ends it."""

    number: int
    text: str
    ended: bool

    @property
    def words(self) -> list[str]:
        """Return the blank-separated words; none for a line that is too long to be a row or a heading."""
        return self.text.split() if len(self.text) <= 1000 else []

    @property
    def dots(self) -> bool:
        """Return whether someone put an ellipsis in the place of rows."""
        return self.text.strip() in ("...", "…", "[...]", ". . .")


def lines_of(text: str) -> list[Line]:
    """Return the lines, cleaned of carriage returns, launcher tags and colours; the last may lack its newline.

    Only a newline ends a line: str.splitlines would also break at form feeds and shift every number after it.
    """
    parts = text.split("\n")
    last = len(parts)
    lines = [Line(number, _clean(part), number < last) for number, part in enumerate(parts, 1)]
    return lines if parts[-1] else lines[:-1]


def _clean(text: str) -> str:
    return _TAG.sub("", text.rstrip("\r")) if "<std" in text or "\x1b" in text else text.rstrip("\r")


def number(word: str) -> int | float | None:
    """Return the number that a word prints: an int without a point, a finite float else; None for any other word."""
    if not _NUMBER.match(word):
        return None
    value = float(word)
    if not math.isfinite(value):
        return None
    return int(word) if word.lstrip("+-").isdigit() else value


def not_a_number(word: str) -> bool:
    """Return whether a word is a printed NaN or infinity: a cell without a value, and a failure."""
    return bool(_NOT_A_NUMBER.match(word))


def decimals(word: str) -> int:
    """Return how many digits stand after the point."""
    return len(word.partition(".")[2])


def whole(line: Line, earlier: int) -> bool:
    """Return whether a row's last number can be trusted not to be cut.

    That is: the line has its newline, or its last field has the table's fixed, non-zero number of decimals
    (``earlier``).
    """
    words = line.words
    return line.ended or (bool(words) and earlier > 0 and decimals(words[-1]) == earlier)


def is_failure(text: str) -> bool:
    """Return whether a line reports that the run, a process or the network failed.

    A search in the first 2,000 characters: what a launcher says stands at a line's beginning.
    """
    return bool(_FAILURE.search(text[:2000]))
