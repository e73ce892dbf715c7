"""WRF's cases: where a site has their inputs, what must be there, and which releases of WRF each is for."""

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from railyard.base.errors import RailyardError
from railyard.base.exit_codes import UNFIT_EXIT
from railyard.benchmarks.physics import Physics
from railyard.benchmarks.table.applications import WRF_STORMS
from railyard.parsers.parsed import Table

#: What every case reads; a real one has the weather at its edges too.
NEEDED = ("namelist.input", "wrfinput_d01")
EDGES = "wrfbdy_d01"
CHECKSUMS = "SHA256SUMS"
_RELEASE = re.compile(r"(?P<major>[0-9]{1,2})\.(?P<minor>[0-9]{1,2})")


def folder(cases: Mapping[str, str], case: str, home: Path, system: str) -> Path:
    """Return the folder of a case's inputs. Raises RailyardError where the site states none, or one lacks a file."""
    where = f"systems/{system}.yaml: wrf_cases.{case}"
    if case not in cases:
        raise RailyardError(f"{where}: found none, expected the folder of the case's inputs")
    path = home / cases[case].replace("{home}", str(home))
    needed = (*NEEDED, EDGES) if case in WRF_STORMS else NEEDED
    how = "fetch the case's inputs into it" if case in WRF_STORMS else "run WRF's ideal.exe, which makes wrfinput_d01"
    lacking = next((name for name in needed if not (path / name).is_file()), None)
    if lacking is not None:
        raise RailyardError(f"{where}: found no {lacking} in {path}, expected {', '.join(needed)}; {how}")
    return path


def before(inputs: Path, executable: str) -> list[str]:
    """Return lines of the job: WRF's own tables and the case's inputs into its folder, checked, and its logs.

    The logs are printed whatever happens: the first rank's whole, of all ranks what is fatal. A line that both of a
    rank's logs have is one step, so that of the first rank's one alone is read.
    """
    tables = Path(executable).resolve().parent.parent / "run"
    found = f"railyard: error: files in {inputs} are not those of its {CHECKSUMS}"
    logs = "cat rsl.error.0000; grep -h -A 8 'FATAL CALLED' rsl.error.*"
    return [
        f"trap {shlex.quote(f'({logs}) 2>/dev/null || :')} EXIT",
        f"cp -R -L {shlex.quote(str(tables))}/. .",
        f"cp -R -L {shlex.quote(str(inputs))}/. .",
        "rm -f rsl.error.* rsl.out.*",
        f"[ ! -f {CHECKSUMS} ] || bad=$(LC_ALL=C sha256sum --check --quiet --strict {CHECKSUMS} 2>&1) ||"
        f' {{ echo {shlex.quote(found)} "("$bad"): fetch them anew" >&2; exit {UNFIT_EXIT}; }}',
    ]


def other_release(key: str, tables: Sequence[Table]) -> str | None:
    """Return why a run's release of WRF is not of its case, or None; a run that names no release is not held.

    The inputs of 2001 that version 3 reads work up to 3.9; those of version 4 have the same names and are other data.
    An idealized case is made by the release that reads it.
    """
    case = next((part for part in key.split("/") if part in WRF_STORMS), None)
    for table in tables if case is not None else ():
        found = _RELEASE.match(table.version or "")
        if found is None:
            continue
        release = int(found["major"]), int(found["minor"])
        fits = release <= (3, 9) if str(case).endswith("-v3") else release >= (4, 0)
        if not fits:
            expected = "up to 3.9" if str(case).endswith("-v3") else "4.0 or newer"
            ran = f"{case} ran with WRF {table.version}"
            return f"{ran}, expected {expected}: other releases have another case's inputs"
    return None


def _wrong(key: str, tables: Sequence[Table]) -> tuple[tuple[int, str], ...]:
    other = other_release(key, tables)
    return () if other is None else ((tables[0].line, other),)


RELEASE = Physics(wrong=_wrong)
