"""HPL 1.0 to 2.3, Intel's, AMD's and NVIDIA's builds of it, and HPL-AI, as one typed table.

``parse`` returns one table per text, one row per test: N, NB, P, Q, time (s), performance (Gflop/s, of all processes),
passed. Rows of HPL-AI are a table of their own (``hpl_ai``) with fgmres (s) and performance_irs (Gflop/s), None if the
row prints none. ``passed`` is HPL's own residual check. It is None if the check was switched off, and False if the
residual is not a number, whatever is printed beside it. If ``passed`` is False, a plausible rate means nothing.

A row counts after its residual is judged: HPL 1.0 prints three residuals per row, later releases one. A table is
complete at "End of Tests." or if the closing counts add up to its rows. It is not complete if those counts name more
rows. Source: HPL_pdtest.c and HPL_pddriver.c of 1.0a to 2.3; for the variants, recorded outputs.
"""

from railyard.parsers.hpl_run import HplReader
from railyard.parsers.lines import filled_lines, foreign, own_text
from railyard.parsers.parsed import Parsed

TOOL = "hpl"

_HPCC = ("HPC Challenge Benchmark version", "Begin of HPL section.", "Begin of Summary section.")
_EXPECTED = 'output of HPL: a banner "HPLinpack …" or a heading "T/V  N  NB …"'


def parse(text: str) -> Parsed:
    """Return the table, failures and remarks of one output of HPL.

    Raises ParseError if the text has neither a banner nor a heading of HPL nor an error of xhpl, or if it is hpcc's.
    """
    text = own_text(text, TOOL, _EXPECTED)
    if any(mark in text for mark in _HPCC):
        raise foreign(text, "output of HPL alone: this is HPC Challenge's, which hpcc reads")
    reader = HplReader()
    for line, stripped in filled_lines(text):
        reader.read(line, stripped)
    tables = reader.tables()
    if not reader.known and not (reader.failures and "xhpl" in text):
        raise foreign(text, _EXPECTED)
    ordered = sorted(reader.failures, key=lambda item: item.line)
    return Parsed(tables, tuple(ordered), tuple(reader.remarks))
