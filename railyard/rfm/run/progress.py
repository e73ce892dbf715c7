"""The line that a run prints for each test that ended, from its record where it left one."""

import re
from pathlib import Path

from railyard.base.wording import counted
from railyard.results.record.file import read_records
from railyard.results.record.form import Record
from railyard.results.report.text import how_made
from railyard.rfm.run import warnings
from railyard.site.test_id import named_policy

#: "[      OK ] ( 3/33) ImbUniband %rails=2 /0a1b2c3d @virtual:hsn+mpich", as ReFrame ends a test.
ENDED = re.compile(
    r"^\[\s*(?P<word>OK|FAIL|SKIP|XFAIL|XPASS|ABORT)\s*\] \(\s*(?P<done>\d+)/\s*(?P<all>\d+)\) (?P<case>.+)$"
)
#: In the name of a fixture (a build), which no test is: its scope follows.
_BUILD = " ~"


def ended(line: str, records: Path) -> str | None:
    """Return what to print for a line of ReFrame's, None where it ends no test. ``records`` is the run's file.

    None too for a build that succeeded: what it built was said when it did.
    """
    found = ENDED.match(warnings.ANSI.sub("", line))
    if found is None:
        return None
    if found["word"] == "OK" and _BUILD in found["case"]:
        return None
    record = _newest(records, found["case"])
    count = f"({found['done']:>{len(found['all'])}}/{found['all']})"
    if record is None:
        return f"{count} {found['word'].lower():<11} {found['case']}"
    named = {
        f.name: f"{f.value:.4g} {f.unit}{', computed, not published' if f.computed else ''}" for f in record.figures
    }
    figure = named.get("peak") or next(iter(named.values()), "")
    policy = named_policy(record.case)
    rails = f"{counted(record.rails, 'rail'):<7}{f', {policy}' if policy else ''}"
    state = record.state if record.no_measurement is None else f"{record.state} ({how_made(record)})"
    return f"{count} {state:<11} {record.fabric:<5} {record.stack:<9} {rails}  {record.benchmark:<22} {figure}"


def _newest(records: Path, case: str) -> Record | None:
    name = re.sub(r" /[0-9a-f]{8} ", " ", case)
    if not records.exists():
        return None
    found = [record for record in read_records(records).records if record.case == name]
    return found[-1] if found else None
