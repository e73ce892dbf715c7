"""Reads a folder of saved outputs: the tools do not have to be on this machine.

    DIR/iblinkinfo.out ibnetdiscover.out ibqueryerrors.out ibqueryerrors-later.out sminfo.out
    DIR/own.out                          lines of `railyard fabric --own`, of any number of nodes
    DIR/NODE/ibstat.out ibstatus.out ibv_devinfo.out rdma_link.out mlxlink-mlx5_0.out dcb-mlx5_0.out own.out
    DIR/NODE/ethtool-mlx5_0.out          ethtool -m of a device's (or an interface's) module
    DIR/perfquery.out DIR/NODE/perfquery-mlx5_0.out
    DIR/NODE/lspci.out show_gids.out nvidia-smi.out
    DIR/NODE/sys/class/infiniband/…      a copy of that part of a node's sysfs
    DIR/answers/asked, …                 lines of `railyard fabric --own` in one file per node (job/node_files.py)

A file's name begins with its tool, up to the first "." or "-". If each rail has its own subnet, the device from which
the tool asked follows after the "-" (iblinkinfo-mlx5_1.out). The name of the second reading of ibqueryerrors ends with
"later" (ibqueryerrors-later.out, ibqueryerrors-mlx5_1-later.out); what grew between the two readings is judged.

Runs the fabric's diagnostics and keeps their outputs in a folder. ``saved`` reads it like any other saved folder.
"""

import io
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from railyard.base.errors import InputError
from railyard.base.files import read_output
from railyard.base.hostlist import label
from railyard.base.values import one_line, show
from railyard.cluster.fabric.judge import parse_pfc
from railyard.cluster.fabric.members import parse_sminfo
from railyard.cluster.fabric.model import (
    Card,
    Manager,
    Readings,
    asking_rail,
    by_device,
    by_guid,
    merge_ports,
    some,
    with_subnet,
)
from railyard.cluster.fabric.own_json import notes_of, own_answer, read_lines, readings_of
from railyard.cluster.fabric.slots import gids_of
from railyard.cluster.fabric.sysfs import cards_of, ports_of
from railyard.job import node_files
from railyard.parsers.fabric import FABRIC_PARSERS
from railyard.parsers.fabric.port import Hardware, PortState
from railyard.parsers.output import ParsedOutput, ParseError
from railyard.provision.testbed.boot import SEARCH_PATH

SUBNET_TOOLS = ("iblinkinfo", "ibnetdiscover", "ibqueryerrors")
NODE_TOOLS = ("ibv_devinfo", "ibstat", "ibstatus", "rdma_link", "mlxlink", "ethtool")
#: Tools that show a node's slots, GIDs, and how near its GPUs and NICs are.
HARDWARE_TOOLS = ("lspci", "show_gids", "nvidia_smi")
SMINFO, PFC, OWN, SYS, LATER = "sminfo", "dcb", "own", "sys", "later"
PERFQUERY = "perfquery"
_EXPECTED = f"outputs named by their tools: {', '.join((*SUBNET_TOOLS, SMINFO, PERFQUERY, OWN))}, and folders of nodes"
_NO_UMAD = "reading the subnet needs read access to /dev/infiniband/umad* (root has it)"


@dataclass(slots=True)
class _SavedOutputs:
    """What a folder holds. ``subnet``: by tool, and by the device from which it asked (empty if not given).

    ``queried``: ports of perfquery, whose counters add to those of ibqueryerrors. ``more_modules``: see ``Readings``.
    """

    subnet: dict[tuple[str, str], ParsedOutput] = field(default_factory=dict)
    later: dict[str, ParsedOutput] = field(default_factory=dict)
    own: list[PortState] = field(default_factory=list)
    queried: list[PortState] = field(default_factory=list)
    more_modules: list[PortState] = field(default_factory=list)
    cards: list[Card] = field(default_factory=list)
    hardware: list[tuple[str, Hardware]] = field(default_factory=list)
    managers: dict[str, Manager | None] = field(default_factory=dict)
    in_part: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    files: int = 0


def read_folder(folder: Path, here: Mapping[str, Path] | None = None) -> Readings:
    """Return all that a folder's outputs hold. ``here``: sysfs roots of nodes outside the folder.

    Raises InputError if the folder is missing or has no output, or if a file was not written by its tool.
    """
    if not folder.is_dir():
        raise InputError(str(folder), "no such folder", "a folder of saved outputs")
    found = _SavedOutputs()
    strange: list[str] = []
    for path in sorted(folder.iterdir()):
        if node_files.has_answers(path):
            _read_answers(path, found)
        elif path.is_dir():
            _read_node(path, found)
        elif not _read_subnet(path, found):
            strange.append(path.name)
    for node, sys in (here or {}).items():
        found.own += ports_of(sys, node)
        found.cards += cards_of(sys, node)
        found.files += 1
    if not found.files:
        raise InputError(str(folder), "no output of a known tool", _EXPECTED)
    if strange:
        found.notes.append(f"not read, since no known tool has this name: {some(strange)}")
    return _readings(found)


def _readings(found: _SavedOutputs) -> Readings:
    ports: tuple[PortState, ...] = ()
    for place, device in enumerate(sorted({device for _, device in found.subnet})):
        views = [found.subnet[tool, device].fabric for tool in SUBNET_TOOLS[:2] if (tool, device) in found.subnet]
        ports = with_subnet(ports, merge_ports(by_guid, *views), place)
    own = merge_ports(by_device, found.own)
    counters = _ports_with_counts(parsed for (tool, _), parsed in found.subnet.items() if tool == SUBNET_TOOLS[2])
    if counters is None:
        counters = tuple(port for port in own if port.counters) or None
    if found.queried:
        queried = (_with_name(port, (*ports, *own)) for port in found.queried)
        counters = merge_ports(_by_name, counters or (), queried)
    is_whole = any(port.peer is not None for port in ports)
    return Readings(
        ports=ports,
        own=own,
        more_modules=tuple(found.more_modules),
        cards=_cards(found.cards, own, found.hardware),
        counters=counters,
        later=_ports_with_counts(found.later.values()),
        # Without umad rights sminfo fails like all tools, which says nothing about a manager.
        managers={asked: manager for asked, manager in found.managers.items() if manager is not None or is_whole},
        is_whole=is_whole,
        hardware=tuple(found.hardware),
        in_part=frozenset(found.in_part),
        notes=tuple(found.notes),
    )


def _by_name(port: PortState) -> object:
    """Return what names a port of perfquery and of ibqueryerrors."""
    return label(port.node or ""), port.device, port.port, "" if port.node else port.guid


def _with_name(port: PortState, known: Iterable[PortState]) -> PortState:
    """Return a port of perfquery with the names of the port at its LID, which is all that perfquery prints."""
    if port.node is not None:
        return port
    at = next((each for each in known if port.lid and (each.lid, each.port) == (port.lid, port.port)), None)
    if at is None:
        return port._replace(node=f"LID {port.lid}" if port.lid else "a node that perfquery does not name")
    return port._replace(node=at.node, device=at.device, guid=at.guid, peer=at.peer)


def _ports_with_counts(outputs: Iterable[ParsedOutput]) -> tuple[PortState, ...] | None:
    """Return the ports of the outputs of ibqueryerrors that could be read; None if there is no such output."""
    read = [parsed.fabric for parsed in outputs if parsed.fabric or parsed.remarks or not parsed.failures]
    return merge_ports(by_guid, *read) if read else None


def _cards(read: list[Card], own: tuple[PortState, ...], hardware: list[tuple[str, Hardware]]) -> tuple[Card, ...]:
    """Return each card once. If its sysfs was not read, firmware and GIDs are what the tools print."""
    cards: dict[tuple[str | None, str | None], Card] = {
        (port.node, port.device): Card(port.node, port.device, firmware=port.firmware)
        for port in own
        if port.node and port.device and port.firmware
    }
    cards.update({(card.node, card.device): card for card in read})
    for node, device, gids in gids_of(hardware):
        card = cards.get((node, device), Card(node, device))
        cards[node, device] = card if card.gids else replace(card, gids=gids)
    return tuple(cards.values())


def _read_subnet(path: Path, found: _SavedOutputs) -> bool:
    """Read a file of the folder itself; return False if its name is not that of a tool."""
    tool = tool_of(path)
    of = _device(path) or ""
    is_later = of.endswith(LATER)
    if is_later and tool == SUBNET_TOOLS[2]:
        found.later[of] = _parse_file(path, tool, found)
    elif tool in SUBNET_TOOLS:
        found.subnet[tool, of] = _parse_file(path, tool, found)
    elif tool == PERFQUERY:
        found.queried += _parse_file(path, tool, found).fabric
    elif tool == SMINFO:
        found.managers[of] = parse_sminfo(_text(path))
    elif tool == OWN:
        _read_own(path, found)
    else:
        return False
    found.files += 1
    return True


def _read_node(folder: Path, found: _SavedOutputs) -> None:
    """Read a node's folder: first its sysfs, which says most, then its tools' outputs."""
    views: dict[str, list[PortState]] = {tool: [] for tool in (*NODE_TOOLS, PERFQUERY, SYS)}
    cards: list[Card] = []
    pfc: dict[str, tuple[int, ...]] = {}
    for path in sorted(folder.iterdir()):
        tool = tool_of(path)
        if path.is_dir():
            if path.name == SYS:
                views[SYS] += ports_of(path, folder.name)
                cards += cards_of(path, folder.name)
                found.files += 1
            continue
        if tool == OWN:
            _read_own(path, found)
        elif tool == PFC:
            priorities = parse_pfc(_text(path))
            if priorities is not None:
                pfc[_device(path) or ""] = priorities
        elif tool in (*NODE_TOOLS, PERFQUERY):
            views[tool] += _read_tool(path, tool, found)
        elif tool in HARDWARE_TOOLS:
            found.hardware.append((folder.name, _parse_file(path, tool, found).hardware))
        else:
            found.notes.append(f"not read, since no known tool has this name: {folder.name}/{path.name}")
            continue
        found.files += 1
    # mlxlink-mlx5_0.out and ethtool-mlx5_0.out are that device: they do not say which others the node has
    whole = (path.name for path in folder.iterdir() if tool_of(path) in {SYS, OWN, *NODE_TOOLS} and not _device(path))
    if not any(whole):
        found.in_part.add(folder.name)
    found.queried += views.pop(PERFQUERY)
    # a port that is merged keeps one module: that of the first tool
    by_first = {by_device(port) for port in views["mlxlink"] if port.module}
    found.more_modules += [port for port in views["ethtool"] if port.module and by_device(port) in by_first]
    found.own += merge_ports(by_device, views.pop(SYS), *views.values())
    found.cards += [_with_pfc(card, pfc.get(card.device)) for card in cards]


def _with_pfc(card: Card, priorities: tuple[int, ...] | None) -> Card:
    return card if priorities is None else replace(card, pfc=priorities)


def _read_tool(path: Path, tool: str, found: _SavedOutputs) -> list[PortState]:
    """Return a node's ports in one file, with the node's name; add a note if a module in it is not judged."""
    ports = _of_node(_parse_file(path, tool, found), path.parent.name, _device(path))
    if sum(bool(port.module) and port.device == _device(path) for port in ports) > 1:
        where = f"{path.parent.name}/{path.name}"
        found.notes.append(f"{where}: only the first module is judged: give each its own file")
    return ports


def _of_node(parsed: ParsedOutput, node: str, device: str | None) -> list[PortState]:
    """Return a node's ports with its name. mlxlink prints neither device nor port: its file's name says them."""
    return [
        port._replace(node=node, device=port.device or device, port=1 if port.port is None else port.port)
        for port in parsed.fabric
    ]


def _read_answers(folder: Path, found: _SavedOutputs) -> None:
    """Read the files that nodes wrote their answers to; add a note for each node without a whole answer."""
    ports, cards, missing = readings_of(node_files.read_folder(folder, own_answer))
    found.own += ports
    found.cards += cards
    found.notes += notes_of(missing)
    found.files += 1


def _read_own(path: Path, found: _SavedOutputs) -> None:
    ports, cards = read_lines(_text(path), str(path))
    found.own += ports
    found.cards += cards


def _parse_file(path: Path, tool: str, found: _SavedOutputs) -> ParsedOutput:
    """Return what a tool's output holds. What failed in it becomes a note; only the rest is judged."""
    try:
        parsed = FABRIC_PARSERS[tool](_text(path))
    except ParseError as error:
        said, line, action = show(error.line), error.line_number or None, "name each file after its tool"
        raise InputError(str(path), said, error.expected, line, action=action) from None
    for failure in parsed.failures[:1]:
        why = f"; {_NO_UMAD}" if tool in SUBNET_TOOLS and not parsed.fabric else ""
        where = f" ({path.parent.name}/{path.name})" if _device(path) else ""
        found.notes.append(f"{tool} failed in part{where}: {failure.text}{why}")
    if tool == SUBNET_TOOLS[2] and parsed.fabric and not any("Summary:" in said.text for said in parsed.remarks):
        found.notes.append(f"{path.name} has no summary at its end, as if it were cut: it may lack ports with errors")
    return parsed


def tool_of(path: Path) -> str:
    """Return the tool that a file is named after. nvidia-smi has the sign in its own name that ends a tool's here."""
    named = path.name.partition(".")[0]
    return "nvidia_smi" if named.startswith("nvidia-smi") else named.partition("-")[0]


def _device(path: Path) -> str | None:
    return path.name.partition(".")[0].partition("-")[2] or None


def _text(path: Path) -> str:
    return read_output(str(path), io.BytesIO())


#: Commands about the subnet. They change nothing on it.
SUBNET = ("sminfo", "ibnetdiscover", "iblinkinfo", "ibqueryerrors")
#: Commands about this node only. They need no special rights.
OWN_FILE: Mapping[str, tuple[str, ...]] = {
    "ibv_devinfo.out": ("ibv_devinfo", "-v"),
    "ibstat.out": ("ibstat",),
    "rdma_link.out": ("rdma", "link"),
}
#: Limit for one command in seconds: a subnet of ten thousand ports answers within a minute or two.
LIMIT_S = 300


def collect(
    folder: Path,
    node: str,
    say: Callable[[str], None],
    again_s: float | None = None,
    sys: Path = Path("/sys"),
    *,
    optics: bool = False,
) -> None:
    """Run each diagnostic on PATH, with its output in a file; read counters again after ``again_s`` seconds.

    A command that is missing or prints nothing leaves no file; ``say`` reports it. This changes nothing on the fabric.
    """
    own = folder / node
    own.mkdir(parents=True, exist_ok=True)
    seen = ""
    asked: list[tuple[tuple[str, ...], str]] = []
    for options, suffix, guid in _ways(sys):
        if guid and guid in seen:
            continue  # this rail is on a subnet that another rail has already shown
        for tool in SUBNET:
            # If no manager answers, sminfo fails: keep its message, since it is the answer.
            _run((tool, *options), folder / f"{tool}{suffix}.out", say, keeps_failure=tool == "sminfo")
        links = folder / f"iblinkinfo{suffix}.out"
        seen += links.read_text(encoding="utf-8") if links.is_file() else ""
        asked.append((options, suffix))
    counted = time.monotonic()
    collect_own(own, say, sys, optics=optics)
    if again_s is None:
        return
    time.sleep(max(0.0, again_s - (time.monotonic() - counted)))
    for options, suffix in asked:
        if (folder / f"ibqueryerrors{suffix}.out").is_file():
            _run(("ibqueryerrors", *options), folder / f"ibqueryerrors{suffix}-later.out", say)


def _ways(sys: Path) -> list[tuple[tuple[str, ...], str, str | None]]:
    """Return the options for asking from each own port that is up, the end of the files' names, and the port's GUID.

    Each rail may be on its own subnet. If no port is up, the tools choose one themselves.
    """
    up = [port for port in ports_of(sys, "") if port.link_layer == "InfiniBand" and port.is_active]
    ways: list[tuple[tuple[str, ...], str, str | None]] = []
    for port in up:
        device, number = str(port.device), port.port or 1
        ways.append((("-C", device, "-P", str(number)), f"-{asking_rail(device, number)}", port.guid))
    return ways or [((), "", None)]


def collect_own(folder: Path, say: Callable[[str], None], sys: Path = Path("/sys"), *, optics: bool = False) -> None:
    """Run the commands that show this node's own ports; run nothing if it has no RDMA device.

    ``optics``: also those that read cables and modules.
    """
    for file, words in OWN_FILE.items():
        _run(words, folder / file, say)
    for device in sorted({str(port.device) for port in ports_of(sys, "") if port.link_layer == "Ethernet"}):
        for netdev in _netdevs(sys / "class/infiniband" / device / "device/net"):
            _run(("dcb", "pfc", "show", "dev", netdev), folder / f"dcb-{device}.out", say)
    if optics:
        collect_optics(folder, say, sys)


def collect_optics(folder: Path, say: Callable[[str], None], sys: Path) -> None:
    """Run mlxlink or ethtool for the cable or module of each RDMA device. Both need root, and take about a second."""
    for device in sorted({str(port.device) for port in ports_of(sys, "")}):
        words = optics_words(device, _netdevs(sys / "class/infiniband" / device / "device/net"))
        if words:
            _run(words, folder / f"{words[0]}-{device}.out", say)
        else:
            say(f"neither mlxlink nor ethtool is installed: the cable of {device} is not judged")


def optics_words(device: str, netdevs: Sequence[str]) -> tuple[str, ...]:
    """Return the command that shows a device's cable or module; nothing if no tool is there that could."""
    if device.startswith("mlx5_") and shutil.which("mlxlink", path=SEARCH_PATH):
        return ("mlxlink", "-d", device, "-m", "-c")
    if netdevs and shutil.which("ethtool", path=SEARCH_PATH):
        return ("ethtool", "-m", netdevs[0])
    return ()


def _run(words: tuple[str, ...], file: Path, say: Callable[[str], None], *, keeps_failure: bool = False) -> None:
    program = shutil.which(words[0], path=SEARCH_PATH)
    if program is None:
        say(f"{words[0]} is not installed: what it shows is not judged")
        return
    environment = {**os.environ, "PATH": SEARCH_PATH, "LC_ALL": "C"}
    try:
        done = subprocess.run(
            [program, *words[1:]],
            capture_output=True, text=True, errors="replace", timeout=LIMIT_S, check=False, env=environment,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        say(f"{' '.join(words)} did not end within {LIMIT_S} s: what it shows is not judged")
        return
    except OSError as error:
        say(f"{program} does not run ({error.strerror}): what it shows is not judged")
        return
    if not done.stdout.strip() and not (keeps_failure and done.stderr.strip()):
        said = next((line.strip() for line in done.stderr.splitlines() if line.strip()), "nothing")
        say(f"{' '.join(words)} printed nothing (exit code {done.returncode}): {one_line(said)}")
        return
    # ibqueryerrors exits with 1 if it finds errors. Only the error output says which part failed.
    text = done.stdout if done.returncode == 0 else f"{done.stdout}{done.stderr}"
    file.write_text(text, encoding="utf-8")


def _netdevs(folder: Path) -> list[str]:
    try:
        return sorted(path.name for path in folder.iterdir())
    except OSError:
        return []
