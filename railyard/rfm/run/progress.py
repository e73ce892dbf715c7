"""The line that a run prints when a test ends, from the test's record if there is one."""

import re
from collections.abc import Mapping
from pathlib import Path

from railyard.base.terminal import fold_words
from railyard.base.wording import count_of
from railyard.results.record.file import read_records
from railyard.results.record.form import Record
from railyard.results.report.summary import key_figure
from railyard.results.report.text import figure_number, state_words
from railyard.rfm.run import output
from railyard.site.test_id import named_policy

#: "[      OK ] ( 3/33) ImbUniband %rails=2 /0a1b2c3d @virtual:hsn+mpich", as ReFrame ends a test; a test that did not
#: run has its reason in brackets after it.
ENDED = re.compile(
    r"^\[\s*(?P<word>OK|FAIL|SKIP|XFAIL|XPASS|ABORT)\s*\] \(\s*(?P<done>\d+)/\s*(?P<all>\d+)\) "
    r"(?P<case>\S.*? @\S+)(?: \[(?P<why>.*)\])?$"
)
#: ReFrame's words for a test without a record -> those of our reports.
_WORDS: Mapping[str, str] = {"OK": "no verdict", "SKIP": "not tested", "XFAIL": "expected failure"}
#: In the name of a fixture (a build), which is not a test: its scope follows.
_BUILD = " ~"
_HASH = re.compile(r" /[0-9a-f]{8} ")


class Progress:
    """The lines of one run, none wider than ``width``; ``records`` is the run's file.

    A reason that several tests share is printed with the first of them.
    """

    def __init__(self, records: Path, width: int) -> None:
        self._records = records
        self._width = width
        self._said: set[str] = set()

    def end_line(self, line: str) -> str | None:
        """Return what to print for a line from ReFrame; None if no test ended there, or only a build that succeeded."""
        found = ENDED.match(output.ANSI.sub("", line))
        if found is None or (found["word"] == "OK" and _BUILD in found["case"]):
            return None
        count = f"({found['done']:>{len(found['all'])}}/{found['all']})"
        hanging = " " * (len(count) + 1)
        case = _HASH.sub(" ", found["case"])
        record = self._newest(case)
        if record is not None:
            return self._fit_line(f"{count} {_row(record)}".rstrip(), hanging)
        shown = self._fit_line(f"{count} {_WORDS.get(found['word'], found['word'].lower()):<10} {case}", hanging)
        why = found["why"]
        if not why or why in self._said:
            return shown
        self._said.add(why)
        return f"{shown}\n{fold_words(why, self._width, hanging, hanging)}"

    def _fit_line(self, text: str, hanging: str) -> str:
        """Return a line of columns: without alignment if that is too wide, and folded if it still is."""
        if len(text) <= self._width:
            return text
        count, _, rest = text.partition(") ")
        return fold_words(f"{count}) {' '.join(rest.split())}", self._width, hanging)

    def _newest(self, case: str) -> Record | None:
        if not self._records.exists():
            return None
        found = [record for record in read_records(self._records).records if record.test.case == case]
        return found[-1] if found else None


def _row(record: Record) -> str:
    """Return a test's state, place, benchmark and key figure, in the numbers and words of the verdict table."""
    policy = named_policy(record.test.case)
    rails = f"{count_of(record.test.rails, 'rail'):<7}{f', {policy}' if policy else ''}"
    figure = key_figure(record)
    value = "" if figure is None else f"{figure_number(figure)} {figure.unit}"
    state = f"{state_words(record):<{10 if record.no_measurement is None else 14}}"
    return f"{state} {record.where.fabric:<5} {record.test.stack:<8} {rails} {record.test.benchmark:<22} {value}"
