"""Reads the log of NCCL and RCCL (NCCL_DEBUG=INFO), 2.4 to 2.30: the networks, NICs, transports, rings and trees used.

``Reader`` takes one line after another. ``log`` returns what they say, each with its line and its speaker
(``host:pid:tid [gpu]``). Nothing is judged here. Other lines of the log are recognised too, and say nothing here. RCCL
prints the same words, and names itself only in its version.

Source: the INFO and WARN calls of NCCL's init.cc, debug.cc, graph/*.cc, transport/*.cc and enqueue.cc at the tags
2.4.8, 2.7.8, 2.10.3, 2.12.12, 2.18.6, 2.19.3, 2.21.5, 2.24.3, 2.27.3 and 2.30.7.
"""

import re
from collections.abc import Callable, Sequence

from railyard.parsers.lines import LONGEST_NOTE
from railyard.parsers.nccl_said import Choice, Link, Log, LogSentence, Member, Nic, Ring, Speaker, Speed, Tree

# node1:2304:2340 [1] transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion …   |   [0] 12.3 init:9 NCCL TRACE …
LINE = re.compile(
    r"(?P<host>[A-Za-z0-9][A-Za-z0-9_.-]{0,254}):(?P<pid>[0-9]{1,12}):(?P<tid>[0-9]{1,12}) "
    r"\[(?P<gpu>-?[0-9]{1,6})\] (?:[^\n]{0,200}? )?NCCL (?P<level>INFO|WARN|TRACE|CALL) (?P<text>[^\n]{0,4000})"
)
# NCCL version 2.28.7+cuda13.0  |  RCCL version 2.18.3+hip6.0 HEAD:2f6d59e+  |  RCCL version : 2.22.3-develop
VERSION = re.compile(r"\s{0,8}[NR]CCL version (?:: )?[0-9]{1,3}\.[0-9]\S{0,60}(?: \S{0,120}){0,4}\s{0,8}")

_NIC = re.compile(
    r"\[(?P<index>[0-9]{1,4})\] ?(?P<name>[A-Za-z0-9_.+-]{1,80}):(?P<port>[0-9]{1,4})(?::[0-9]{0,4}){0,2}"
    r"/(?P<kind>IB|RoCE|[A-Za-z]{1,20})(?P<sharp>/SHARP)?"
)
_INTERFACE = re.compile(r"\[(?P<index>[0-9]{1,4})\](?P<name>[^\s:]{1,80}):[^\s<]{1,120}<[0-9]{1,6}>")
# NET/IB: [3] mlx5_3:uverbs3:1/IB provider=Mlx5 speed=400000 context=…  |  NET/IB : Made virtual device [3] name=mlx5_3
# speed=400000 ndevs=1; joined ports are mlx5_0+mlx5_1 with the sum of both
_SPEED = re.compile(
    r"NET/IB ?: (?:Made virtual device )?\[[0-9]{1,4}\] (?:name=)?(?P<name>[A-Za-z0-9_.+-]{1,80})"
    r"(?::[A-Za-z0-9_.-]{1,80}:(?P<port>[0-9]{1,4})/[A-Za-z]{1,20})?(?: provider=\S{1,40})?"
    r" speed=(?P<rate>[0-9]{1,9})\b"
)
# Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0(1)/GDRDMA/Shared  |  Channel 01 : 0[1000] -> 1[2000] via P2P/IPC
_LINK = re.compile(
    r"(?:Channel|Ring) (?P<channel>[0-9]{1,4})(?:/[0-9]{1,4})? : (?P<source>[0-9]{1,8})(?:\[[0-9a-f]{1,16}\])? -> "
    r"(?P<target>[0-9]{1,8})(?:\[[0-9a-f]{1,16}\])? (?:\[(?P<way>send|receive)\] )?via (?P<how>\S.{0,120})"
)
# CollNet 00/0 : 3 [send] via COLLNET/SHARP/0/GDRDMA
_COLLNET = re.compile(
    r"Coll(?:Net)? (?P<channel>[0-9]{1,4})(?:/[0-9]{1,4})? : (?P<source>[0-9]{1,8}) \[(?P<way>send|receive)\] via "
    r"(?P<how>COLLNET/\S.{0,120})"
)
_NETWORK_WAY = re.compile(
    r"(?P<transport>(?:NET|COLLNET)/[^/]{1,60})/(?P<nic>[0-9]{1,6})(?:\([0-9]{1,8}\))?(?P<rest>.{0,80})"
)
# comm 0x7f rank 0 nranks 16 cudaDev 0 nvmlDev 0 busId 9d000 commId 0x1 - Init COMPLETE
_MEMBER = re.compile(
    r"(?:\[Rank [0-9]{1,8}\] )?\S{0,60} ?comm 0x[0-9a-f]{1,16} rank (?P<rank>[0-9]{1,8}) n[rR]anks "
    r"(?P<ranks>[0-9]{1,8}) cudaDev (?P<device>[0-9]{1,6})(?: nvmlDev [0-9]{1,6})?"
    r"(?: busId (?P<bus>[0-9a-fx]{1,16}))?.{0,200}? - Init "
    r"(?P<state>START|COMPLETE)"
)
_RING = re.compile(r"Ring (?P<channel>[0-9]{1,4}) : (?P<ranks>[0-9]{1,8} -> [0-9]{1,8} -> [0-9]{1,8})")
_ORDER = re.compile(r"Channel (?P<channel>[0-9]{1,4})/[0-9]{1,4} ?: {1,8}(?P<ranks>[0-9 ]{1,3900})")
# Trees [0] 1/-1/-1->0->-1 [1] 1/8/-1->0->-1; up to 2.7 with the ways up and down: [0] 1/-1/-1->0->-1|-1->0->1/-1/-1
_TREE = re.compile(
    r"\[(?P<channel>[0-9]{1,4})\] (?P<down>-?[0-9]{1,8}(?:/-?[0-9]{1,8}){1,3})->(?P<rank>[0-9]{1,8})->"
    r"(?P<up>-?[0-9]{1,8})"
)
# AllReduce: 8388608 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..23}; in 2.23 "Algo 1 proto 2 time 93.1", and
# in 2.20 to 2.22 that without the function
_CHOICE = re.compile(
    r"(?:(?P<collective>[A-Za-z]{1,40}): )?(?P<size>[0-9]{1,20}) Bytes -> Algo (?P<algorithm>\S{1,40}) proto "
    r"(?P<protocol>\S{1,40})(?: channel\{Lo\.\.Hi\}=\{(?P<low>[0-9]{1,4})\.\.(?P<high>[0-9]{1,4})\})?.{0,80}"
)
#: NCCL's numbers for algorithms and protocols (src/include/plugin/nccl_tuner.h), and its names for them.
_ALGORITHMS = ("TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT")
_PROTOCOLS = ("LL", "LL128", "SIMPLE")
_CHANNELS = re.compile(r"[0-9]{1,6} coll channels,.{0,200}")
_SETTING = re.compile(r"[A-Z][A-Z0-9_]{3,80} set (?:by environment )?to .{1,500}")
#: Sentences that say that NCCL uses a slower way than it could.
_FALLBACK = re.compile(
    r"NET/IB ?: No device found|Failed to open libibverbs|NET/IB ?: No IP interface found"
    r"|GPU Direct RDMA Disabled|NVLS multicast support is not available|P2P not supported between|P2P is disabled"
    r"|Could not enable P2P|peer query failed|falling back|disabling CollNet|Legacy IPC not supported"
    r"|Failed to initialize (?:any )?NET plugin|PXN Disabled|not be using GDRCopy|MNNVL:? (?:is )?[Dd]isabled"
)
#: Sentences that are kept although they are not a setting, a network or a fallback.
_FACT = re.compile(
    r"Bootstrap ?:|NET/OFI |NET/(?:IB|[A-Z]\w{1,40}) ?: GPU Direct RDMA|GPU Direct RDMA Enabled|NET/Plugin"
    r"|Loaded net plugin|NVLS (?:multicast support|tuning)|Connected (?:all (?:rings|trees)|NVLS|CollNet|Collnet)"
    r"|rank [0-9]{1,8} Connected"
    r"|Check P2P Type|MNNVL |comm 0x[0-9a-f]{1,16} rank [0-9]{1,8} nRanks|Pattern [0-9]|CollNet|DMA-BUF"
    r"|Initialized NET|Assigned NET|GDRCOPY"
)
_NO_RANK = -1


class Reader:
    """What the lines said so far."""

    def __init__(self) -> None:
        self.known = False
        self._versions: list[LogSentence] = []
        self._networks: list[LogSentence] = []
        self._nics: list[Nic] = []
        self._speeds: list[Speed] = []
        self._links: list[Link] = []
        self._members: list[Member] = []
        self._rings: list[Ring] = []
        self._trees: list[Tree] = []
        self._choices: list[Choice] = []
        self._channels: list[LogSentence] = []
        self._settings: list[LogSentence] = []
        self._fallbacks: list[LogSentence] = []
        self._warnings: list[LogSentence] = []
        self._facts: list[LogSentence] = []
        self._kinds: tuple[Callable[[int, Speaker, str], bool], ...] = (
            self._link,
            self._tree,
            self._ring,
            self._member,
            self._choice,
            self._nic,
            self._speed,
            self._sentence,
        )

    def find(self, text: str) -> re.Match[str] | None:
        """Return where in a line a line of the log is: at its beginning, or after the beginning of another line."""
        if " NCCL " in text:
            text = text[:LONGEST_NOTE]
            return LINE.match(text) or LINE.search(text)
        return VERSION.fullmatch(text) if "CCL version" in text and len(text) < LONGEST_NOTE else None

    def read(self, number: int, found: re.Match[str]) -> None:
        """Take a line that ``find`` found."""
        self.known = True
        if found.re is VERSION:
            self._versions.append(LogSentence(number, None, found[0].strip()))
            return
        speaker = Speaker(found["host"], int(found["pid"]), int(found["gpu"]))
        text = found["text"].strip()
        if found["level"] == "WARN":
            self._warnings.append(LogSentence(number, speaker, text))
            if _FALLBACK.search(text):
                self._fallbacks.append(LogSentence(number, speaker, text))
        elif found["level"] == "INFO":
            any(kind(number, speaker, text) for kind in self._kinds)

    def log(self) -> Log | None:
        """Return what was said; None if there was no line of a log."""
        if not self.known:
            return None
        return Log(
            versions=tuple(self._versions),
            networks=tuple(self._networks),
            nics=tuple(self._nics),
            speeds=tuple(self._speeds),
            links=tuple(self._links),
            members=tuple(self._members),
            rings=tuple(self._rings),
            trees=tuple(self._trees),
            choices=tuple(self._choices),
            channels=tuple(self._channels),
            settings=tuple(self._settings),
            fallbacks=tuple(self._fallbacks),
            warnings=tuple(self._warnings),
            facts=tuple(self._facts),
        )

    def _link(self, number: int, by: Speaker, text: str) -> bool:
        if " via " not in text:
            return False
        found = _LINK.fullmatch(text) or _COLLNET.fullmatch(text)
        if not found:
            return False
        how = found["how"]
        net = _NETWORK_WAY.fullmatch(how)
        transport = net["transport"] if net else _way_without_details(how)
        target = found["target"] if found.re is _LINK else None
        self._links.append(
            Link(
                line=number,
                by=by,
                channel=int(found["channel"]),
                source=int(found["source"]),
                target=None if target is None else int(target),
                direction=found["way"],
                transport=transport,
                nic=int(net["nic"]) if net else None,
                gdr=bool(net and "/GDRDMA" in net["rest"]),
            )
        )
        return True

    def _tree(self, number: int, by: Speaker, text: str) -> bool:
        if not text.startswith("Trees "):
            return False
        for found in _TREE.finditer(text):
            below = [int(word) for word in found["down"].split("/")]
            parent = int(found["up"])
            self._trees.append(
                Tree(
                    number,
                    by,
                    int(found["channel"]),
                    int(found["rank"]),
                    None if parent == _NO_RANK else parent,
                    tuple(child for child in below if child != _NO_RANK),
                )
            )
        return True

    def _ring(self, number: int, by: Speaker, text: str) -> bool:
        found = _RING.fullmatch(text) or _ORDER.fullmatch(text)
        if not found:
            return False
        ranks = tuple(int(word) for word in found["ranks"].replace("->", " ").split())
        self._rings.append(Ring(number, by, int(found["channel"]), ranks))
        return True

    def _member(self, number: int, by: Speaker, text: str) -> bool:
        found = _MEMBER.match(text) if " - Init " in text else None
        if not found:
            return False
        complete = found["state"] == "COMPLETE"
        device, bus = int(found["device"]), found["bus"]
        self._members.append(Member(number, by, int(found["rank"]), int(found["ranks"]), device, bus, complete))
        return True

    def _choice(self, number: int, by: Speaker, text: str) -> bool:
        found = _CHOICE.fullmatch(text) if " Bytes -> Algo " in text else None
        if not found:
            return False
        channels = (int(found["low"]), int(found["high"])) if found["low"] else None
        algorithm = _name_of_number(found["algorithm"], _ALGORITHMS)
        protocol = _name_of_number(found["protocol"], _PROTOCOLS)
        size, collective = int(found["size"]), found["collective"] or ""
        self._choices.append(Choice(number, by, collective, size, algorithm, protocol, channels))
        return True

    def _nic(self, number: int, by: Speaker, text: str) -> bool:
        if not text.startswith(("NET/", "Bootstrap")) or "Using [" not in text.replace("Using  [", "Using ["):
            return False
        named, _, _ = text.partition("; OOB")
        kind = text.partition(" ")[0].removeprefix("NET/").rstrip(":")
        if kind == "Bootstrap":
            return False
        for found in _NIC.finditer(named):
            index, port, sharp = int(found["index"]), int(found["port"]), found["sharp"] is not None
            self._nics.append(Nic(number, by, index, found["name"], port, found["kind"], sharp))
        if kind == "Socket":
            for found in _INTERFACE.finditer(named):
                self._nics.append(Nic(number, by, int(found["index"]), found["name"], None, kind))
        return True

    def _speed(self, number: int, by: Speaker, text: str) -> bool:
        found = _SPEED.match(text) if " speed=" in text else None
        if not found:
            return False
        ports, rate = found["name"].count("+") + 1, int(found["rate"])
        port = None if found["port"] is None else int(found["port"])
        self._speeds += [Speed(number, by, name, port, rate / ports) for name in found["name"].split("+")]
        return True

    def _sentence(self, number: int, by: Speaker, text: str) -> bool:
        said = LogSentence(number, by, text)
        if text.startswith("Using network "):
            self._networks.append(said._replace(text=text.removeprefix("Using network ").strip()))
        elif VERSION.fullmatch(text):
            self._versions.append(said)
        elif _CHANNELS.fullmatch(text):
            self._channels.append(said)
        elif _SETTING.fullmatch(text):
            self._settings.append(said)
        elif _FALLBACK.search(text):
            self._fallbacks.append(said)
        elif _FACT.match(text):
            self._facts.append(said)
        return True


def _name_of_number(word: str, names: Sequence[str]) -> str:
    """Return the name of a number; a name, or a number that is not known, as it is."""
    return names[int(word)] if word.isdecimal() and int(word[:4]) < len(names) else word


def _way_without_details(how: str) -> str:
    """Return the way inside a node without details: P2P/CUMEM for "P2P/CUMEM/read", SHM/direct for the old words."""
    if how.startswith("direct shared memory"):
        return "SHM"
    return "/".join(how.split()[0].split("/")[:2])
