"""What a run of ucx_perftest was asked for: from its command line, its server's box, or a test's name in a batch file.

A client prints figures alone: which test it is and its message size are in these places only.

Source: TEST_PARAMS_ARGS and the table ``tests`` of src/tools/perf/perftest.c, print_header and print_test_name of
perftest_run.c, and the example batch files of contrib/ucx_perftest_config, UCX 1.8 to 1.18 (openucx/ucx).
"""

import re
from dataclasses import dataclass, fields, replace

from railyard.parsers.output import ContextValue

TESTS = (
    *("am_lat", "put_lat", "add_lat", "get", "fadd", "swap", "cswap", "am_bw", "put_bw", "get_bw", "add_mr"),
    *("tag_lat", "tag_bw", "tag_sync_lat", "tag_sync_bw", "ucp_put_lat", "ucp_put_bw", "ucp_get", "ucp_add"),
    *("ucp_fadd", "ucp_swap", "ucp_cswap", "stream_bw", "stream_lat", "ucp_am_lat", "ucp_am_bw"),
)
#: "| Test: " of a box -> the test, by its layer: both layers have a "put latency".
_TRANSPORT = {
    "active message latency": "am_lat",
    "put latency": "put_lat",
    "atomic add latency": "add_lat",
    "get latency / bandwidth / message rate": "get",
    "active message bandwidth / message rate": "am_bw",
    "put bandwidth / message rate": "put_bw",
    "get bandwidth / message rate": "get_bw",
    "atomic add message rate": "add_mr",
}
_PROTOCOL = {
    "tag match latency": "tag_lat",
    "tag match bandwidth": "tag_bw",
    "tag sync match latency": "tag_sync_lat",
    "tag sync match bandwidth": "tag_sync_bw",
    "put latency": "ucp_put_lat",
    "put bandwidth": "ucp_put_bw",
    "get latency / bandwidth / message rate": "ucp_get",
    "stream bandwidth": "stream_bw",
    "stream latency": "stream_lat",
    "am latency": "ucp_am_lat",
    "am bandwidth / message rate": "ucp_am_bw",
}
_LAYERS = {"transport layer": _TRANSPORT, "protocol layer": _PROTOCOL}
# Names of tests in the example batch files: "ucp_contig_tag_bw", "put_zcopy_lat", "put_bw_HH". Put, get and am are
# tests of both layers: the layout of the data is said for the transports only, the memory of both ends for UCP only.
_BATCH = (
    (re.compile(r"(?:\A|_)sync_tag_(lat|bw)|(?:\A|_)tag_sync_(lat|bw)"), "tag_sync_{}"),
    (re.compile(r"(?:\A|_)tag_(lat|bw)"), "tag_{}"),
    (re.compile(r"(?:\A|_)stream_(?:data_)?(lat|bw)"), "stream_{}"),
    (re.compile(r"\Aput_(?:short|bcopy|zcopy)_(lat|bw)\Z"), "put_{}"),
    (re.compile(r"\Aam_(?:short|short_iov|bcopy|zcopy)_(lat|bw)\Z"), "am_{}"),
    (re.compile(r"\Aput_(lat|bw)_[HD]{2}\Z"), "ucp_put_{}"),
    (re.compile(r"\Aget_[HD]{2}\Z"), "ucp_get"),
)
# $ ./ucx_perftest node2 -t tag_bw -s 1048576 -n 1000
_COMMAND = re.compile(r"(?:^|[\s/;&|(])ucx_perftest(?P<arguments>(?:\s[^;&|]{0,2000})?)")
# Options with a value that matter here
_WANTED = frozenset("tsOmTn")
_DIGITS = re.compile(r"[1-9][0-9]{0,17}")
_SIZES = re.compile(r"[0-9]{1,15}(?:,[0-9]{1,15}){0,31}")
# | Message size: 8                                                                                          |
_BOX = re.compile(r"^\|\s(?P<name>API|Test|Send memory|Recv memory|Message size|Window size):\s+(?P<value>\S.*?)\s*\|$")


@dataclass(frozen=True, slots=True)
class Settings:
    """What is known about one test; None: not said. ``size`` and ``window`` are a message's bytes and how many fly.

    ``name``: that of a test of batch files, without its size.
    """

    test: str | None = None
    size: int | None = None
    window: int | None = None
    threads: int | None = None
    iterations: int | None = None
    send_memory: str | None = None
    receive_memory: str | None = None
    loopback: bool | None = None
    name: str | None = None

    def fill_from(self, other: "Settings") -> "Settings":
        """Return these settings, and the other ones where these say nothing."""
        said = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(other, **{name: value for name, value in said.items() if value is not None})

    def context(self) -> dict[str, ContextValue]:
        """Return what a table says besides its figures."""
        names = ("window", "threads", "send_memory", "receive_memory", "loopback", "name")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}


def of_command(text: str) -> Settings | None:
    """Return what a client's command line asks for; None if a line has no such command, or it is a server's."""
    if "ucx_perftest" not in text or len(text) > 4000:
        return None
    found = [_of_arguments(each["arguments"].split()) for each in _COMMAND.finditer(text)]
    return next((each for each in reversed(found) if each is not None), None)


def _of_arguments(words: list[str]) -> Settings | None:
    given: dict[str, str] = {}
    for place, word in enumerate(words):
        if word[:1] == "-" and word[1:2] in _WANTED:
            given[word[1]] = word[2:] or (words[place + 1] if place + 1 < len(words) else "")
        elif word == "-l":
            given["l"] = ""
    if not given.keys() & {"t", "s"}:
        return None
    test = given.get("t")
    memory = given.get("m", "").split(",")
    return Settings(
        test=test if test in TESTS else None,
        size=_sum_of(given["s"]) if "s" in given else 8,  # init_test_params
        window=_number(given.get("O")),
        threads=_number(given.get("T")),
        iterations=_number(given.get("n")),
        send_memory=memory[0] or None,
        receive_memory=memory[-1] or None,
        loopback=True if "l" in given else None,
    )


def _number(word: str | None) -> int | None:
    return int(word) if word and _DIGITS.fullmatch(word) else None


def _sum_of(word: str) -> int | None:
    """Return the bytes of a message whose parts are listed; None for anything else, such as a shell's variable."""
    return sum(map(int, word.split(","))) if _SIZES.fullmatch(word) else None


class Box:
    """The lines of a server's box, while they are read."""

    def __init__(self) -> None:
        self._said: dict[str, str] = {}

    def take(self, text: str) -> bool:
        """Read a line of the box; return whether it is one."""
        found = _BOX.match(text) if text.startswith("| ") and len(text) <= 200 else None
        if found:
            if found["name"] == "API":
                self._said.clear()  # the first line of a box
            self._said[found["name"]] = found["value"]
        return found is not None

    def settings(self) -> Settings | None:
        """Return what the last box said; None if there was none."""
        if not self._said:
            return None
        tests = _LAYERS.get(self._said.get("API", ""), {})
        return Settings(
            test=tests.get(self._said.get("Test", "").removeprefix("UCP ")),
            size=_number(self._said.get("Message size")),
            window=_number(self._said.get("Window size")),
            send_memory=self._said.get("Send memory"),
            receive_memory=self._said.get("Recv memory"),
        )

    def clear(self) -> None:
        """Forget the box: it is known whose it is."""
        self._said = {}


def of_batch(name: str) -> Settings:
    """Return what a test's name in batch files says: "tag_lat/4096" is a test and a size, other parts are free."""
    test = size = None
    parts = name.split("/")
    for part in parts:
        if _DIGITS.fullmatch(part):
            size = int(part)
        else:
            test = test or _test_of(part)
    return Settings(test=test, size=size, name="/".join(part for part in parts if not _DIGITS.fullmatch(part)))


def _test_of(part: str) -> str | None:
    if part in TESTS:
        return part
    for pattern, name in _BATCH:
        if found := pattern.search(part):
            return name.format(next(filter(None, found.groups()), ""))
    return None
