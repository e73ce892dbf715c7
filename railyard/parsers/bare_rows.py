"""Rows of numbers alone whose form shows which tool printed them, although no line names it: what to say of them."""

import re

from railyard.parsers.parsed import ParseError

_SIZE, _FIGURE = "[0-9]{1,12}", r"[0-9]{1,12}\.[0-9]{2}"
_GAP = "[ \\t]{1,20}"
#: Of `netperf -P 0`: sockets' sizes, call size, seconds, throughput; with two sizes and a rate for requests; with
#: messages and errors for datagrams. -c and -C add the processors' columns.
_NETPERF = re.compile(
    rf"^[ \t]{{0,20}}{_SIZE}{_GAP}{_SIZE}{_GAP}"
    rf"(?:{_SIZE}{_GAP}(?:{_SIZE}{_GAP})?{_FIGURE}|{_FIGURE}{_GAP}{_SIZE}{_GAP}{_SIZE}){_GAP}{_FIGURE}"
    rf"(?:{_GAP}-?[0-9]{{1,6}}\.[0-9]{{2,3}}){{0,4}}[ \t]{{0,20}}$"
)
_NUMBERS = re.compile(r"^[-0-9. \t]{1,200}$")
_WITHOUT_TITLE = (
    "a title and a heading above: these look like rows of netperf without them (-P 0), which do not say which test it "
    "was; run netperf without -P 0, or paste its title, too"
)


def refuse_bare_rows(text: str) -> None:
    """Do nothing for a text with words. Raises ParseError for rows of a known form, with what to do."""
    lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    if lines and _NETPERF.match(lines[0][1]) and all(_NUMBERS.match(line) for _, line in lines):
        raise ParseError(*lines[0], _WITHOUT_TITLE)
