"""Puts back the "#" that a page or a mailer took from the headings of OSU and IMB, as a sign of its own.

Only where the tool shows itself: OSU by its banner, IMB by its heading of columns. Numbers of lines stay.
"""

import re

_OSU = re.compile(r"^[ \t]{0,8}(?=(?:OSU|OMB-Py) \S[^\n]{0,120} Test(?: Persistent)?\s{0,9}v[0-9])", re.MULTILINE)
_OSU_OWN = re.compile(r"^[ \t]{0,8}(?=(?:Size|Datatype:)[ \t])", re.MULTILINE)
_IMB = re.compile(r"^(?P<indent>[ \t]{0,20})bytes(?P<blanks>[ \t]{1,20})repetitions(?=[ \t])", re.MULTILINE)
_IMB_OWN = re.compile(
    r"^[ \t]{0,20}(?=Benchmarking \S|processes = [0-9]|\( [0-9]{1,9} additional process|All processes entering MPI_F"
    r"|Intel ?\(R\) MPI Benchmark)",
    re.MULTILINE,
)
_IMB_RULE = re.compile(r"^(?=-{20,200}\s*$)", re.MULTILINE)


def with_lost_signs(text: str) -> str:
    """Return a text with the "#" of OSU's and IMB's own lines; the same text if none is lost."""
    if _OSU.search(text):
        text = _OSU_OWN.sub("# ", _OSU.sub("# ", text))
    if "repetitions" in text and _IMB.search(text):
        text = _IMB.sub(r"\g<indent>#bytes\g<blanks>#repetitions", text)
        text = _IMB_RULE.sub("#", _IMB_OWN.sub("# ", text)).replace("# processes = ", "# #processes = ")
    return text
