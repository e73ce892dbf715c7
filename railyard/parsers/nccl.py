"""Output of nccl-tests 2.0 to 2.19 and rccl-tests, console and ``-J``, as typed tables, and the log of NCCL or RCCL.

``parse`` returns one table for each datatype, operation, root and repetition of a run, in the order of the text:
benchmark (the program), version, ranks and nodes in the context, columns as printed: size B, time us, ``algbw`` and
``busbw`` MB/s (10^6 B/s, from the printed 10^9 B/s), ``wrong`` (elements) or ``error`` (largest difference); the names
of the in-place half end in ``_in_place``. ``validation`` is whether no element was wrong. The rest is in
``ParsedOutput.nccl``: the jobs with their ranks, and the log (NCCL_DEBUG=INFO) as ``nccl_log`` reads it; a text may
have only the log. ``nccl_words`` has the forms of the releases.

Up to 2.16 a program does not name itself. Its columns and busbw / algbw then tell which it is. If several fit, the
table names none, and its context has them as ``one_of``.

A table is complete if its run ended ("Out of bounds values", "Avg bus bandwidth"), it has a row for each requested
size, no row is cut or mixed with another line, and its figures agree with each other. Two jobs in one text are failures
if lines are mixed, a rank occurs twice, or the same test was started twice, each with its own rank 0.

Such two jobs look like one job over all nodes. A script may also repeat a job on the same GPUs, one run after the
other. Then each run stands for itself.

The rows of one table of nccl-tests: words -> cells, even if another line is inside a row.

A row is printed in three pieces: what is measured, the first half, the second half. Another process, or NCCL's log, may
print between them. Each column ends where its heading ends, so a piece can be told from what is glued to it.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from railyard.parsers import nccl_json, nccl_log
from railyard.parsers import nccl_words as words
from railyard.parsers.decorations import Prefixes
from railyard.parsers.lines import LONGEST_NOTE, Line, each_line, foreign, is_failure, not_a_number, number, own_text
from railyard.parsers.nccl_run import Row, Run
from railyard.parsers.nccl_said import Job, NcclOutput, Rank
from railyard.parsers.nccl_words import Column, Heading
from railyard.parsers.output import Cell, ParsedOutput, Remark

_TYPE = re.compile(r"[a-z][a-z0-9_]{1,15}")
_REDOP = re.compile(r"[a-z][a-z0-9_]{1,15}")
_ROOT = re.compile(r"-1|[0-9]{1,8}")
_NOTHING = "N/A"
_TIMESTAMP_WORDS = 2  # date and time of day
_NARROWEST = 10  # characters of the column "count", unless someone took the blanks away


@dataclass(frozen=True, slots=True)
class Cut:
    """The beginning of a row: its size, count, type, operation and root, and the figures so far.

    ``goes_on``: it ends where a piece of a row ends, and the rest may follow on another line.
    """

    line: int
    lead: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()
    goes_on: bool = False


def row_of(heading: Heading, line: Line, before: Cut | None) -> Row | Cut | None:
    """Return the row that a line is or ends, the beginning of a row, or None for any other line.

    A line that continues the row before it and does not end it gives that row's beginning again, with more figures.
    """
    words = line.words
    if not words:
        return None
    whole = _whole_row(heading, line, words) if line.ended else None
    if whole is not None:
        return whole
    if before is not None and before.goes_on and line.ended:
        joined = (*before.figures, *words)
        ended = _row(heading, before.line, before.lead, joined)
        if ended is not None:
            return ended
        if len(joined) == heading.half and all(map(_is_figure, heading.columns, joined)):
            return replace(before, figures=joined)
    return (_first_half(heading, line, words) if line.ended else None) or _row_start(heading, line, words)


def _first_half(heading: Heading, line: Line, words: list[str]) -> Cut | None:
    """Return the beginning of a row that ends after its first half, even if a figure is wider than its column."""
    lead = _lead(heading, words)
    figures = words[len(_lead_columns(lead)) :] if lead is not None else []
    if lead is None or len(figures) != heading.half or not all(map(_is_figure, heading.columns, figures)):
        return None
    if heading.half == len(heading.columns) or heading.ends[1] - heading.ends[0] < _NARROWEST:
        return None
    place = line.text.index(figures[0], len(" ".join(_lead_columns(lead))))
    starts_first = place < heading.ends[_count_leading(heading)] + heading.shift(line.text)
    return Cut(line.number, lead, tuple(figures), goes_on=True) if starts_first else None


def half_of(heading: Heading, part: Cut) -> Row | None:
    """Return the row of a beginning that has the first half and nothing else; None for any other beginning."""
    if not part.lead or len(part.figures) != heading.half:
        return None
    return _row(heading, part.line, part.lead, (*part.figures, *("" for _ in heading.columns[heading.half :])))


def _whole_row(heading: Heading, line: Line, words: list[str]) -> Row | None:
    """Return the row of a line that has a whole row."""
    lead = _lead(heading, words)
    if lead is None:
        return None
    after = sum(_TIMESTAMP_WORDS if name == "timestamp" else 1 for name in heading.after)
    figures = words[len(_lead_columns(lead)) :]
    figures, rest = figures[: len(figures) - after], tuple(figures[len(figures) - after :])
    if len(figures) == len(heading.columns) - heading.half and heading.half < len(heading.columns):
        # out of place was not measured: its columns are blank
        shift = heading.shift(line.text)
        left, right = (
            heading.ends[_count_leading(heading) - 1],
            heading.ends[_count_leading(heading) + heading.half - 1],
        )
        if not line.text[left + shift : right + shift].strip():
            figures = [*("" for _ in range(heading.half)), *figures]
    return _row(heading, line.number, lead, tuple(figures), rest)


def _lead(heading: Heading, words: list[str]) -> tuple[str, ...] | None:
    """Return size, count, type, operation and root ("" for a blank one); None for any other line."""
    if len(words) < 3 or not (words[0].isdecimal() and words[1].isdecimal() and _TYPE.fullmatch(words[2])):
        return None
    if len(words[0]) > 20 or len(words[1]) > 20 or not (words[0] + words[1]).isascii():
        return None
    redop = root = ""
    following = words[3:5]
    if "redop" in heading.texts and following and _REDOP.fullmatch(following[0]):
        redop = following.pop(0)
    has_root = "root" in heading.texts
    if has_root and following and _ROOT.fullmatch(following[0]):
        root = following[0]
    if has_root and not root:
        return None
    return words[0], words[1], words[2], redop, root


def _lead_columns(lead: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word for word in lead if word)


def _count_leading(heading: Heading) -> int:
    """Return how many columns are before the figures."""
    return 2 + len(heading.texts)


def _row_start(heading: Heading, line: Line, words: list[str]) -> Cut | None:
    """Return the row that begins in a line and does not end in it; None for any other line."""
    shift = heading.shift(line.text)
    ends = [max(0, end + shift) for end in heading.ends]
    pieces = [line.text[left:right].strip() for left, right in zip((0, *ends), ends, strict=False)]
    lead = _lead(heading, [piece for piece in pieces[: _count_leading(heading)] if piece])
    if lead is None or " " in "".join(lead):
        # does not end where a column ends: it may still be half of a row
        is_half = _lead(heading, words) is not None or (len(words) == 1 and words[0].isdecimal() and not line.ended)
        return Cut(line.number) if is_half else None
    figures = pieces[_count_leading(heading) :]
    there = next((place for place, word in enumerate(figures) if not _is_figure(heading.columns[place], word)), None)
    there = len(figures) if there is None else there
    there -= there % heading.half
    return Cut(line.number, lead, tuple(figures[:there]), goes_on=True)


def _values(heading: Heading, words: Sequence[str]) -> list[int | float | None] | None:
    """Return the numbers of a row's figures, with None for NaN and the like; None if a word is not a figure at all."""
    found: list[int | float | None] = []
    for column, word in zip(heading.columns, words, strict=True):
        value = number(word) if word else None
        if word and value is None and not _is_figure(column, word):
            return None
        found.append(value)
    return found


def _is_figure(column: Column, word: str) -> bool:
    if column.name.startswith("error"):
        word = word.removesuffix("*")  # rccl-tests up to 2022: above its bound
    return bool(word) and (number(word) is not None or not_a_number(word) or word == _NOTHING)


def _row(
    heading: Heading, line: int, lead: tuple[str, ...], words: tuple[str, ...], after: tuple[str, ...] = ()
) -> Row | None:
    """Return the row of these words; None if one of them is not a figure."""
    values = _values(heading, words) if len(words) == len(heading.columns) else None
    if values is None:
        return None
    cells: list[Cell] = []
    wrong: list[str] = []
    for column, word, value in zip(heading.columns, words, values, strict=True):
        if value is None:
            if word.endswith("*"):
                value = number(word[:-1])
                wrong.append(f"wrong results: error {word} at {lead[0]} B is above its bound")
            elif not_a_number(word):
                wrong.append(f"not finite: {column.name} {word} at {lead[0]} B")
        elif value < 0:
            wrong.append(f"below 0: {column.name} {word} at {lead[0]} B")
        elif value and column.name.startswith("wrong"):
            wrong.append(f"wrong results: {word} wrong elements at {lead[0]} B")
            value = int(value) if value == int(value) else value
        counted = column.unit is None and not column.name.startswith("error")
        cells.append(value if value is None or counted else float(value) * column.factor)
    plain = tuple(word.removesuffix("*") for word in words)
    kind = (lead[2], lead[3], lead[4])
    return Row(line, int(lead[0]), int(lead[1]), kind, tuple(cells), plain, after, tuple(wrong))


TOOL = "nccl"
#: The stages of what a run prints, in order: a line of an earlier stage begins another run.
STAGES = ("version", "starting", "settings", "devices", "heading", "rows", "out of bounds", "average", "concluded")
_STAGE: Mapping[str, int] = MappingProxyType({name: place for place, name in enumerate(STAGES, 1)})
_EXPECTED = 'output of nccl-tests or rccl-tests ("# nThread …", "# size count type …"), or a log of NCCL or RCCL'
_LONGEST = 2000  # characters: longer lines are not looked at
#: Processes that one command starts at once have numbers closer together than this. A run starts many threads, and
#: each takes a number, so the next run's are farther away.
_STARTED_AT_ONCE = 32


def parse(text: str) -> ParsedOutput:
    """Return the tables, failures, remarks, jobs and log of one output of nccl-tests, rccl-tests, NCCL or RCCL.

    Raises ParseError if the text has neither a line of these programs nor a line of the log.
    """
    text = own_text(text, TOOL, _EXPECTED)
    written = nccl_json.read(text)
    reader = _Reader(Prefixes(text))
    for line in each_line(text):
        if line.text and not line.text.isspace() and line.number not in written.lines:
            reader.read(line)
    if not (reader.has_lines or reader.log.known or written.runs or written.failures):
        raise foreign(text, _EXPECTED)
    return reader.result(written)


def is_own_failure(text: str) -> bool:
    """Return whether a stripped line says that nccl-tests, or a library that it uses, failed."""
    return is_failure(text) or bool(words.OWN_FAILURE.fullmatch(text[:_LONGEST]))


class _Reader:
    """The outputs in one text, by the prefix of their lines, and the log of all of them."""

    def __init__(self, prefixes: Prefixes) -> None:
        self.prefixes = prefixes
        self.log = nccl_log.Reader()
        self.streams: dict[str, _Stream] = {}
        self.failures: list[Remark] = []
        self.remarks: list[Remark] = []

    @property
    def has_lines(self) -> bool:
        """Whether any line of nccl-tests was read."""
        return any(stream.known for stream in self.streams.values())

    def read(self, line: Line) -> None:
        """Read one line: of the log, of one of the outputs, or an unknown one."""
        if len(line.text) > _LONGEST:
            self._foreign(line, line.text)
            return
        source, text = self.prefixes.split(line.text)
        found, is_piece = self.log.find(text), False
        if found:
            front, found, is_piece = self._split_glued(source, text, found)
            self.log.known = True
            if line.ended:  # else the name of a NIC may have lost its end
                self.log.read(line.number, found)
            if is_failure(text):
                self.failures.append(Remark(line.number, line.text.strip()[:LONGEST_NOTE]))
            if not front.strip():
                return
            text = front
        if source.startswith("["):
            text = text.replace(source, "")  # Hydra's prefix is before each piece of a row
        if not text.strip():
            return
        stream = self.streams.get(source)
        if stream is None:
            stream = self.streams[source] = _Stream(source)
        ended = is_piece if found else line.ended
        known = stream.read(line if text is line.text else Line(line.number, text, ended))
        if not known and not found:
            self._foreign(line, line.text)

    def _split_glued(self, source: str, text: str, found: re.Match[str]) -> tuple[str, re.Match[str], bool]:
        """Return what is before a line of the log, that line, and whether it is a whole piece of a row.

        "-1node1:77:78 [0] NCCL INFO" is the end of a row's piece and then the host. Where a piece can end is known.
        """
        stream = self.streams.get(source)
        heading = stream.heading if stream else None
        if heading and found.start() and found.re is nccl_log.LINE:
            for end in sorted(heading.pieces(text)):
                again = nccl_log.LINE.match(text, end) if found.start() < end < found.end("host") else None
                if again:
                    return text[:end], again, True
        return text[: found.start()], found, False

    def _foreign(self, line: Line, text: str) -> None:
        text = text.strip()
        failed = is_own_failure(text)
        (self.failures if failed else self.remarks).append(Remark(line.number, text[:LONGEST_NOTE]))

    def result(self, written: nccl_json.WrittenJson) -> ParsedOutput:
        """Return what was found, after every line was read."""
        runs = [*written.runs, *(run for stream in self.streams.values() for run in stream.runs)]
        runs.sort(key=lambda run: run.line)
        closed = [run.close() for run in runs]
        jobs, apart = separate([job for _, job in closed], [run.source for run in runs])
        spoiled = {job.line for job in jobs if job.separate_from is not None}
        tables = [
            replace(table, complete=table.complete and run.line not in spoiled)
            for run, (own, _) in zip(runs, closed, strict=True)
            for table in own
        ]
        failures = [*self.failures, *written.failures, *apart, *(each for run in runs for each in run.failures)]
        return ParsedOutput(
            tuple(sorted(tables, key=lambda table: table.line)),
            tuple(sorted(failures, key=lambda failure: failure.line)),
            tuple(self.remarks),
            nccl=NcclOutput(tuple(jobs), self.log.log()),
        )


class _Stream:
    """One output: its runs. The last one is open."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.runs: list[Run] = []
        self.known = False
        self.above: set[str] = set()
        self.before = ""  # the line above the next heading: it says which half is in place
        self.part: Cut | None = None
        self.kinds: tuple[Callable[[Line, str], bool], ...] = (
            self._version,
            self._read_start,
            self._settings,
            self._devices,
            self._rank,
            self._heading,
            self._units,
            self._tail,
        )

    def read(self, line: Line) -> bool:
        """Read one line; return whether it is one of nccl-tests'."""
        text = line.text.strip()
        begins = text[0]
        if begins.isdigit():
            return self._row(line)
        known = begins in "#nRrUCOAsTo" and any(kind(line, text) for kind in self.kinds)
        if not known and words.is_place_line(text):
            self.before = text
            return True
        if known or text.lstrip("# ").startswith(words.OWN) or not text.strip("# "):
            return True
        self.above.update(found["name"] for found in words.PROGRAM.finditer(text))
        run = self._open
        if run and run.stage < _STAGE["out of bounds"] and is_own_failure(text):
            run.died = True
        if run and run.stage == _STAGE["rows"] and (line.dots or is_failure(text)):
            run.spoiled = True
        if run and run.stage == _STAGE["devices"] and ("Rank" in text[:8] or line.dots):
            run.cut = True
        return False

    @property
    def heading(self) -> Heading | None:
        """The heading of the open run."""
        return self.runs[-1].heading if self.runs else None

    @property
    def _open(self) -> Run | None:
        return self.runs[-1] if self.runs else None

    def _run_at(self, stage: str, line: Line) -> Run:
        """Return the run that a line of this stage belongs to: a new one if the open one has passed this stage."""
        self.known = True
        run, place = self._open, _STAGE[stage]
        if run is None or run.stage >= place:
            again = Run(line.number, begins=place, source=self.source, above=self.above)
            if run is not None and run.stage < _STAGE["out of bounds"]:
                self._cut_off(run, again)
            self.runs.append(again)
            self.above, self.part = set(), None
            run = again
        run.stage = place
        return run

    def _cut_off(self, run: Run, again: Run) -> None:
        """Note that another run begins before this one ended: it died and said so, was killed, or the two are mixed."""
        run.spoiled = True
        died = "it failed" if run.died else "it was killed, or lines of two jobs are mixed"
        run.fail(run.line, f"a run that has not ended where another begins in line {again.line}: {died}")
        # rows of a mixed run would not be the requested ones; what is above them shows nothing
        again.spoiled |= not run.died and (run.stage < _STAGE["heading"] or again.begins != run.begins)

    def _version(self, line: Line, text: str) -> bool:
        if not line.ended:
            return False
        found = words.VERSION.fullmatch(text)
        if found:
            run = self._run_at("version", line)
            run.version = found["version"]
            library = nccl_json.version_of(int(found["library"])) if found["library"] else None
            run.library = f"{found['who']} {library}" if library else found["who"]
            return True
        found = words.RCCL.fullmatch(text)
        if found is None:
            return False
        self.known = True
        run = self._open or self._run_at("version", line)
        run.version, run.library = found["version"], "rccl"
        return True

    def _read_start(self, line: Line, text: str) -> bool:
        found = words.STARTING.fullmatch(text) if line.ended else None
        if found:
            self._run_at("starting", line).named = words.program_of(found["name"])
        return found is not None

    def _settings(self, line: Line, text: str) -> bool:
        found = words.settings_of(text) if line.ended else None
        if found is not None:
            self._run_at("settings", line).settings = found
        return found is not None

    def _devices(self, line: Line, text: str) -> bool:
        found = words.USING.fullmatch(text)
        if found:
            self._run_at("devices", line)
            return True
        reduced = words.REDUCING.fullmatch(text) if line.ended else None
        if reduced and self._open:
            self._open.settings["max_bytes"] = int(reduced["bytes"])
        return reduced is not None

    def _rank(self, line: Line, text: str) -> bool:
        run = self._open
        found = words.RANK.fullmatch(text if text[0] == "#" else f"# {text}")
        if not found or run is None or run.stage > _STAGE["devices"]:
            return False
        if not line.ended:
            run.cut = True
            return True
        run.ranks.append(
            Rank(
                line=line.number,
                rank=int(found["rank"]),
                group=int(found["group"] or 0),
                pid=int(found["pid"]) if found["pid"] else None,
                host=found["host"],
                device=int(found["device"]),
                bus_id=found["bus"],
                name=(found["name"] or "").strip(),  # ROCm without amdgpu.ids names none
            )
        )
        return True

    def _heading(self, line: Line, text: str) -> bool:
        # the ends of its columns count from the line's own beginning
        found = words.heading_of(line.text.rstrip(), self.before) or words.heading_of(text, self.before)
        if found is None:
            return False
        self.before = ""
        run = self._run_at("heading", line)
        run.heading_line = line.number
        if isinstance(found, str):
            run.fail(line.number, f"a heading with {found}, a column not known here: {text}")
            return True
        run.heading = found
        return True

    def _units(self, line: Line, text: str) -> bool:
        found, run = words.units_of(text), self._open
        if found is None or run is None or run.heading is None or run.rows:
            return False
        due = run.heading.units
        if found[: len(due)] != due and line.ended:
            run.fail(line.number, f"units {' '.join(found)}, expected {' '.join(due)}: no row below is read")
            run.heading = None
        return True

    def _tail(self, line: Line, text: str) -> bool:
        if words.CYCLE.fullmatch(text):
            return True
        concluded = words.CONCLUDED.fullmatch(text)
        if concluded:
            run = self._ending("concluded", line)
            run.concluded = True
            run.named = run.named or words.program_of(concluded["name"])
            return True
        bounds, average = words.OUT_OF_BOUNDS.fullmatch(text), words.AVERAGE.fullmatch(text)
        if bounds and line.ended:
            run = self._ending("out of bounds", line)
            run.out_of_bounds = int(bounds["count"])
            if bounds["word"] == "FAILED" or run.out_of_bounds != 0:
                run.fail(line.number, f"wrong results: {text}")
        if average and (number(average["value"]) is not None or not_a_number(average["value"])):
            run = self._ending("average", line)
            self._average(run, line, average)
        return bool(bounds or average)

    def _average(self, run: Run, line: Line, found: re.Match[str]) -> None:
        value = number(found["value"])
        run.averaged, run.average_line = True, line.number
        if value is None:
            run.fail(line.number, f"not finite: {line.text.strip()}")
            run.spoiled = True
        elif line.ended:
            run.average = float(value)
        if found["word"] == "FAILED":
            run.fail(line.number, f"below what the run was set to reach: {line.text.strip()}")

    def _note_lost(self, run: Run, part: Cut) -> None:
        """Note a row whose end never came; only the first one of a run.

        Builds of nccl-tests without the second half print only the first, below the same heading.
        """
        half = half_of(run.heading, part) if run.heading else None
        if half is not None and not run.lost:
            run.halves.append(half)
            return
        if not run.lost:
            run.fail(part.line, "a row that is cut, or mixed with another line")
        run.lost = run.spoiled = True

    def _ending(self, stage: str, line: Line) -> Run:
        """Return the run that ends here. A second end is another job's: the lines of the two are mixed."""
        self.known = True
        run, place = self._open, _STAGE[stage]
        if run is None:
            run = Run(line.number, source=self.source)
            self.runs.append(run)
        if self.part is not None:
            self._note_lost(run, self.part)
            self.part = None
        if run.stage >= place:
            run.fail(line.number, f"a second end of the run of line {run.line}: lines of two jobs are mixed")
            run.spoiled = True
        run.stage = max(run.stage, place)
        return run

    def _row(self, line: Line) -> bool:
        run = self._open
        if run is None or run.heading is None or not _STAGE["heading"] <= run.stage <= _STAGE["rows"]:
            return False
        found = row_of(run.heading, line, self.part)
        if found is None:
            return False
        run.stage = _STAGE["rows"]
        before, self.part = self.part, None
        if before is not None and found.line != before.line:
            self._note_lost(run, before)
        if isinstance(found, Cut):
            self.part = found if found.goes_on else None
            if not found.goes_on:
                self._note_lost(run, found)
            return True
        run.rows.append(found)
        for text in found.wrong:
            run.fail(line.number, text)
            run.spoiled |= not text.startswith("wrong results")
        return True


def separate(jobs: Sequence[Job], sources: Sequence[str]) -> tuple[list[Job], list[Remark]]:
    """Return the jobs, each with the separately started job of the same test, and a failure for each such pair.

    ``sources``: the prefix of each job's lines. If one script starts programs one after another, they are other tests,
    have other sizes, or repeat a run on the same GPUs.
    """
    first: dict[str | None, list[tuple[Job, str]]] = {}
    found: list[Job] = []
    failures: list[Remark] = []
    for job, source in zip(jobs, sources, strict=True):
        zero = next((rank for rank in job.ranks if rank.rank == 0), None)
        if zero is None or not job.tables:
            found.append(job)
            continue
        alike = first.setdefault(job.benchmark, [])
        # a run's settings may be above what is left of its output
        before = next(
            (
                each
                for each, prefix in alike
                if not (each.settings and job.settings and each.settings != job.settings)
                and not (prefix == source and _repeats(job, each))
            ),
            None,
        )
        if before is None:
            alike.append((job, source))
            found.append(job)
            continue
        other = next(rank for rank in before.ranks if rank.rank == 0)
        found.append(replace(job, separate_from=before.line))
        failures.append(
            Remark(
                zero.line,
                f"two separate jobs of {job.benchmark or 'one test'} in one file: rank 0 is on {other.host} (pid "
                f"{other.pid}, line {other.line}) and on {zero.host} (pid {zero.pid}, line {zero.line}); each "
                "measured only its own ranks: start one job over all nodes (nccl-tests built with MPI=1), or "
                "give each a file of its own",
            )
        )
    lines = {job.separate_from for job in found}
    return [replace(job, separate_from=job.line) if job.line in lines else job for job in found], failures


def _repeats(job: Job, before: Job) -> bool:
    """Return whether a job ran on the same GPUs as an earlier one, and was not started at the same time."""
    if not job.settings or not before.settings or len(job.ranks) != len(before.ranks):
        return False
    pairs = list(zip(job.ranks, before.ranks, strict=True))
    if any(
        (one.rank, one.host, one.bus_id, one.device) != (two.rank, two.host, two.bus_id, two.device)
        for one, two in pairs
    ):
        return False
    return all(
        one.pid is not None and two.pid is not None and abs(one.pid - two.pid) >= _STARTED_AT_ONCE for one, two in pairs
    )
