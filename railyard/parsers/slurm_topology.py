"""The switches of a cluster as Slurm writes them: topology.conf, topology.yaml, and ``scontrol show topology``.

Read are trees of switches (topology/tree) and blocks of nodes (topology/block). Rings and tori have no leaf switches
and are refused by name. Parameter names are case insensitive, lists of names are Slurm's, a line may go on after a
backslash, and ``Include FILE`` puts another file in its place.

A node may be at several switches: Slurm only warns of that ("Multiple leaf switches contain nodes"), and if each rail
has its own switches, it is right. So this module takes it, and whoever knows the rails judges it.

Sources: topology.conf(5) and topology.yaml(5) of Slurm 26.05, scontrol(1), and what the plugins print and refuse
(src/plugins/topology/tree/switch_record.c, topology_tree.c, block/topology_block.c).
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NoReturn

import yaml

from railyard.base.errors import InputError, did_you_mean
from railyard.base.hostlist import expand_names
from railyard.base.strict_yaml import compose
from railyard.base.values import show
from railyard.base.wording import listing

#: Returns the name and the text of a file that an ``Include`` names. Raises InputError if it cannot be read.
ReadIncluded = Callable[[str, "Place"], tuple[str, str]]
Kind = Literal["tree", "block"]

_SWITCH_KEYS = ("SwitchName", "Switches", "Nodes", "LinkSpeed", "Level")
_BLOCK_KEYS = ("BlockName", "AggregatedBlock", "Nodes", "BlockIndex", "BlockSize")
#: By the first key of a line that scontrol prints, and by the field of topology.yaml.
_OTHER_KINDS = {
    **dict.fromkeys(("ringname", "ring"), "topology/ring"),
    **dict.fromkeys(("torusname", "torus3d"), "topology/torus3d"),
}
_PAIR = re.compile(r'([A-Za-z0-9_.]+)\s*=\s*("[^"]*"|\S*)(?:\s+|$)')
_INCLUDE = re.compile(r"include\s+(\S+)", re.IGNORECASE)
_YAML_LINE = re.compile(r"---|-\s|[A-Za-z_]+\s*:")
_NO_SWITCHES = "at least one switch or block"
#: Slurm itself stops at this depth ("Switch configuration is not a tree").
_DEEPEST = 20
#: A program wrote these lists, so a long one is no typing mistake: the top switch has all nodes of a cluster.
_MOST_NODES = 1 << 18
_SIZE = re.compile(r"[0-9]{1,9}")
_CUT = "a line that was cut ends like this: unset SLURM_TOPO_LEN, and save it again"
_SAVE = "save it again: scontrol show topology > FILE"


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file, from 1."""

    file: str
    line: int

    def error(self, found: str, expected: str, action: str | None = None) -> InputError:
        """Return an error about this line."""
        return InputError(self.file, found, expected, self.line, None, action)


@dataclass(frozen=True, slots=True)
class Switch:
    """A switch or a block: the nodes at it, or the names of the switches below it. A leaf switch has none below.

    ``reached`` are all nodes below a switch, which only ``scontrol`` prints.
    """

    name: str
    place: Place
    nodes: tuple[str, ...] = ()
    below: tuple[str, ...] = ()
    reached: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SlurmTopology:
    """The switches by name, in the order of the file, and what they are: a tree of switches, or blocks of nodes.

    ``aggregated`` has larger blocks by name, each with its blocks: the next level above blocks.
    """

    kind: Kind
    switches: Mapping[str, Switch]
    aggregated: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def leaves(self) -> tuple[Switch, ...]:
        """The leaf switches with nodes (or the blocks), in the order of the file."""
        return tuple(switch for switch in self.switches.values() if not switch.below and switch.nodes)

    @property
    def levels(self) -> int:
        """How many switches are above one another at most; 1 if there are only leaf switches, or blocks."""
        return 1 + max(_depths(self.switches).values(), default=0)

    @property
    def groups(self) -> Mapping[str, tuple[str, ...]]:
        """The second level: each switch directly above leaf switches, with these; {} if there is no such level.

        There is one if each leaf switch is below exactly one such switch, there are two of them or more, and not each
        has only one leaf switch. A leaf switch below several (the spines of a fat tree) has no group.
        """
        leaves = [leaf.name for leaf in self.leaves]
        above = self.aggregated or {name: switch.below for name, switch in self.switches.items() if switch.below}
        found = {name: _in_order(leaves, below) for name, below in above.items()}
        found = {name: below for name, below in found.items() if below}
        times = Counter(leaf for below in found.values() for leaf in below)
        is_level = len(found) > 1 and all(times[leaf] == 1 for leaf in leaves)
        return found if is_level and any(len(below) > 1 for below in found.values()) else {}


def _in_order(leaves: Sequence[str], below: Sequence[str]) -> tuple[str, ...]:
    is_below = set(below)
    return tuple(leaf for leaf in leaves if leaf in is_below)


def parse(text: str, file: str, read: ReadIncluded, name: str | None = None) -> SlurmTopology:
    """Return the switches of a text in any of the three forms.

    ``read`` gets files that it includes. ``name`` is the topology of a topology.yaml that has several; None: its
    default. Raises InputError, with file and line, for whatever Slurm would refuse or this cannot read.
    """
    if _is_yaml(text):
        return _of_yaml(text, file, name)
    if name is not None:
        raise InputError(file, f"no topology {show(name)}: only topology.yaml has names", "a topology.yaml")
    return _of_lines(_lines(text, file, read, ()), file)


def _is_yaml(text: str) -> bool:
    first = next((line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")), "")
    return _YAML_LINE.match(first.strip()) is not None


def _lines(text: str, file: str, read: ReadIncluded, within: tuple[str, ...]) -> Iterator[tuple[Place, str]]:
    """Yield the lines that say something, without comments, joined where one goes on, with included files in place."""
    before, start = "", 0
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        said = line.split("#")[0].rstrip()
        start = start or number
        if said.endswith("\\"):
            before += said[:-1]
            continue
        whole, place = f"{before}{said}".strip(), Place(file, start)
        before, start = "", 0
        included = _INCLUDE.fullmatch(whole)
        if included is not None:
            shown, found = read(included[1], place)
            if shown in (*within, file):
                raise place.error(f"an Include of {shown}, which is being read", "a file that does not include itself")
            yield from _lines(found, shown, read, (*within, file))
        elif whole:
            yield place, whole


def _of_lines(lines: Iterator[tuple[Place, str]], file: str) -> SlurmTopology:
    switches: dict[str, Switch] = {}
    blocks: dict[str, Switch] = {}
    aggregated: dict[str, tuple[int, tuple[str, ...]]] = {}
    sizes: tuple[Place, tuple[int, ...]] | None = None
    for place, line in lines:
        said = _pairs(place, line)
        first = next(iter(said))
        if first == "switchname":
            _add(switches, _switch(place, said))
        elif first == "blockname":
            _refuse_unknown(place, said, _BLOCK_KEYS)
            _add(blocks, Switch(said[first], place, _names(place, "Nodes", said.get("nodes", ""))))
        elif first == "aggregatedblock":
            _refuse_unknown(place, said, _BLOCK_KEYS)
            (size,) = _sizes(place, [said.get("blocksize") or "1"])
            aggregated[said[first]] = size, _names(place, "AggregatedBlock", said[first])
        elif first == "blocksizes":
            sizes = (place, _sizes(place, said[first].split(",")))
        else:
            _refuse_line(place, first, line)
    _refuse_both(switches, blocks)
    if blocks:
        made = {} if sizes is None else _aggregate(list(blocks), sizes[1])
        return SlurmTopology("block", blocks, made or _smallest(aggregated))
    if not switches:
        raise InputError(file, "no line with SwitchName= or BlockName=", _NO_SWITCHES, action=_SAVE)
    _check_tree(switches)
    return SlurmTopology("tree", switches)


def _pairs(place: Place, line: str) -> dict[str, str]:
    """Return the values of a line by their keys in lower case, in order."""
    found: dict[str, str] = {}
    at = 0
    for pair in _PAIR.finditer(line):
        if pair.start() != at:
            break
        key = pair[1].lower()
        if key in found:
            raise place.error(f"{pair[1]} for the second time", "each parameter of a line once")
        found[key], at = pair[2].strip('"'), pair.end()
    if at != len(line) or not found:
        raise place.error(show(line[at:] or line), "NAME=VALUE, with blanks between", _SAVE)
    return found


def _switch(place: Place, said: Mapping[str, str]) -> Switch:
    _refuse_unknown(place, said, _SWITCH_KEYS)
    name, nodes = said["switchname"], _names(place, "Nodes", said.get("nodes", ""))
    below = _names(place, "Switches", said.get("switches", ""))
    if "level" in said:
        level = said["level"]
        if _SIZE.fullmatch(level) is None or (int(level) > 0) != bool(below):
            found = f"switch {show(name)} of level {show(level)} {'with' if below else 'without'} Switches"
            raise place.error(found, "level 0 for a leaf switch, and Switches for each other one", _SAVE)
        return Switch(name, place, (), below, nodes) if below else Switch(name, place, nodes)
    if nodes and below:
        raise place.error(f"switch {show(name)} with Nodes and Switches", "one of them", "Slurm refuses both, too")
    return Switch(name, place, nodes, below)


def _refuse_unknown(place: Place, said: Mapping[str, str], keys: Sequence[str]) -> None:
    unknown = next((key for key in said if key not in {known.lower() for known in keys}), None)
    if unknown is not None:
        raise place.error(f"the parameter {show(unknown)}", f"one of {listing(keys)}", did_you_mean(unknown, keys))


def _refuse_line(place: Place, first: str, line: str) -> NoReturn:
    if first in _OTHER_KINDS:
        raise _no_leaves(place, _OTHER_KINDS[first])
    keys = ("SwitchName", "BlockName", "AggregatedBlock", "BlockSizes", "Include")
    raise place.error(show(line), "a line that begins with SwitchName= or BlockName=", did_you_mean(first, keys))


def _no_leaves(place: Place, kind: str) -> InputError:
    return place.error(kind, "topology/tree or topology/block", "leave topology out: others have no leaf switches")


def _add(found: dict[str, Switch], switch: Switch) -> None:
    if not switch.name:
        raise switch.place.error("no name", "the name of a switch or block")
    if switch.name in found:
        line = found[switch.name].place.line
        raise switch.place.error(f"{show(switch.name)} for the second time", f"each once (line {line} has it already)")
    found[switch.name] = switch


def _names(place: Place, what: str, text: str) -> tuple[str, ...]:
    """Return the names of a list of Slurm's, each once."""
    if text in ("", "(null)"):
        return ()
    try:
        names = tuple(dict.fromkeys(expand_names(text, _MOST_NODES)))
    except ValueError as error:
        raise place.error(f"{what}={text[:60]}: {error}", "names as Slurm writes them: n[1-8,12]") from None
    broken = next((name for name in names if not name or "[" in name or "]" in name or " " in name), None)
    if broken is not None:
        raise place.error(f"{what}={text[:60]}: {show(broken)}", "names as Slurm writes them: n[1-8,12]", _CUT)
    return names


def _sizes(place: Place, words: Sequence[str]) -> tuple[int, ...]:
    if not all(_SIZE.fullmatch(word.strip()) for word in words):
        raise place.error(f"block sizes {','.join(words)[:60]}", "numbers of nodes: 16,64")
    return tuple(map(int, words))


def _refuse_both(switches: Mapping[str, Switch], blocks: Mapping[str, Switch]) -> None:
    if switches and blocks:
        place = next(iter(switches.values())).place
        raise place.error("SwitchName beside BlockName", "one of them: a tree of switches, or blocks of nodes")


def _aggregate(blocks: Sequence[str], sizes: Sequence[int]) -> dict[str, tuple[str, ...]]:
    """Return larger blocks, by the sizes of blocks: as many neighbours as the next size has of the first one."""
    if len(sizes) < 2:
        return {}
    each = max(1, sizes[1] // max(1, sizes[0]))
    parts = [tuple(blocks[at : at + each]) for at in range(0, len(blocks), each)]
    return {f"{part[0]}-and-{len(part) - 1}-more" if len(part) > 1 else part[0]: part for part in parts}


def _smallest(aggregated: Mapping[str, tuple[int, tuple[str, ...]]]) -> dict[str, tuple[str, ...]]:
    """Return the larger blocks of the lowest level: those of the smallest size in nodes."""
    least = min((size for size, _ in aggregated.values()), default=0)
    return {name: blocks for name, (size, blocks) in aggregated.items() if size == least}


def _check_tree(switches: Mapping[str, Switch]) -> None:
    """Raise InputError for a switch below a switch that is not in the file, and for switches in a circle."""
    for switch in switches.values():
        lost = next((name for name in switch.below if name not in switches), None)
        if lost is not None:
            near = did_you_mean(lost, switches)
            raise switch.place.error(f"{show(lost)} below {show(switch.name)}", "a switch of the same file", near)
    _depths(switches)
    for switch in switches.values():
        if switch.reached:
            _check_reached(switch, switches)


def _check_reached(switch: Switch, switches: Mapping[str, Switch]) -> None:
    """Raise InputError if a switch has other nodes than those below it: then one of these lines was cut."""
    below = {node for name in switch.below for node in switches[name].nodes + switches[name].reached}
    for nodes, others, found, expected in (
        (switch.reached, below, f"NODE below {show(switch.name)}", f"NODE at {listing(switch.below)}, too"),
        (below, set(switch.reached), f"NODE at {listing(switch.below)}", f"NODE below {show(switch.name)}, too"),
    ):
        lost = next((show(node) for node in sorted(nodes) if node not in others), None)
        if lost is not None:
            raise switch.place.error(found.replace("NODE", lost), expected.replace("NODE", "it"), _CUT)


def _depths(switches: Mapping[str, Switch]) -> dict[str, int]:
    """Return how many switches are below each switch at most. Raises InputError for switches in a circle."""
    depths: dict[str, int] = {}
    for name in switches:
        _depth(name, switches, depths, ())
    return depths


def _depth(name: str, switches: Mapping[str, Switch], depths: dict[str, int], above: tuple[str, ...]) -> int:
    place = switches[name].place
    if name in above:
        circle = " above ".join((*above[above.index(name) :], name))
        raise place.error(f"switches in a circle: {circle}", "a tree: no switch is below itself")
    if len(above) > _DEEPEST:
        raise place.error(f"more than {_DEEPEST} levels of switches", f"at most {_DEEPEST}, as Slurm takes them")
    if name not in depths:
        below = [_depth(each, switches, depths, (*above, name)) for each in switches[name].below]
        depths[name] = 1 + max(below, default=-1)
    return depths[name]


def _of_yaml(text: str, file: str, name: str | None) -> SlurmTopology:
    root = compose(text.encode(), file)
    topologies = [_fields(each, file, "a topology") for each in _items(root, file, "topologies")]
    if not topologies:
        raise InputError(file, "no topology", "a list of topologies", action="- topology: NAME")
    chosen = _choose(topologies, file, name)
    place = _place(root, file)
    for kind in _OTHER_KINDS:
        if kind in chosen:
            raise _no_leaves(_place(chosen[kind], file), _OTHER_KINDS[kind])
    kinds = [kind for kind in ("tree", "block", "flat") if kind in chosen]
    if len(kinds) != 1:
        raise place.error(f"a topology with {listing(kinds) or 'no kind'}", "one of tree, block and flat")
    body = chosen[kinds[0]]
    if kinds[0] == "flat":
        raise _no_leaves(_place(body, file), "topology/flat")
    return (_yaml_tree if kinds[0] == "tree" else _yaml_blocks)(body, file)


def _choose(topologies: Sequence[Mapping[str, yaml.Node]], file: str, name: str | None) -> Mapping[str, yaml.Node]:
    """Return the topology of a name, else the first one that is the cluster's default, else the only one."""
    names = [_text(each["topology"], file) if "topology" in each else "" for each in topologies]
    if name is not None:
        if name not in names:
            raise InputError(
                file, f"no topology {show(name)}", "a topology of this file", action=did_you_mean(name, names)
            )
        return topologies[names.index(name)]
    default = (
        each for each in topologies
        if "cluster_default" in each and _text(each["cluster_default"], file).lower() in ("true", "yes", "on")
    )  # fmt: skip
    chosen = next(default, topologies[0] if len(topologies) == 1 else None)
    if chosen is None:
        found = f"{len(topologies)} topologies ({listing(names)}), none with cluster_default: true"
        raise InputError(file, found, "the name of one beside slurm", action=f"add name: {names[0]} to topology")
    return chosen


def _yaml_tree(body: yaml.Node, file: str) -> SlurmTopology:
    switches: dict[str, Switch] = {}
    fields = _fields(body, file, "tree")
    for each in _items(fields.get("switches"), file, "switches", _place(body, file)):
        said, place = _fields(each, file, "a switch"), _place(each, file)
        _refuse_unknown(place, dict.fromkeys(said, ""), ("switch", "children", "nodes"))
        parts = {key: _text(node, file) for key, node in said.items()}
        below = _names(place, "children", parts.get("children", ""))
        nodes = _names(place, "nodes", parts.get("nodes", ""))
        if nodes and below:
            named = show(parts.get("switch", ""))
            raise place.error(f"switch {named} with nodes and children", "one of them", "Slurm drops the children")
        _add(switches, Switch(parts.get("switch", ""), place, nodes, below))
    if not switches:
        raise _place(body, file).error("no switch", _NO_SWITCHES)
    _check_tree(switches)
    return SlurmTopology("tree", switches)


def _yaml_blocks(body: yaml.Node, file: str) -> SlurmTopology:
    blocks: dict[str, Switch] = {}
    fields, here = _fields(body, file, "block"), _place(body, file)
    for each in _items(fields.get("blocks"), file, "blocks", here):
        said, place = _fields(each, file, "a block"), _place(each, file)
        _refuse_unknown(place, dict.fromkeys(said, ""), ("block", "nodes"))
        parts = {key: _text(node, file) for key, node in said.items()}
        _add(blocks, Switch(parts.get("block", ""), place, _names(place, "nodes", parts.get("nodes", ""))))
    if not blocks:
        raise here.error("no block", _NO_SWITCHES)
    listed = _items(fields["block_sizes"], file, "block_sizes") if "block_sizes" in fields else []
    sizes = _sizes(here, [_text(each, file) for each in listed]) if listed else ()
    return SlurmTopology("block", blocks, _aggregate(list(blocks), sizes))


def _place(node: yaml.Node | None, file: str) -> Place:
    mark = None if node is None else node.start_mark
    return Place(file, 1 if mark is None else mark.line + 1)


def _items(node: yaml.Node | None, file: str, what: str, above: Place | None = None) -> list[yaml.Node]:
    if not isinstance(node, yaml.SequenceNode):
        place = above if node is None and above is not None else _place(node, file)
        raise place.error(f"no list of {what}", f"a list of {what}: lines that begin with a dash")
    return list(node.value)


def _fields(node: yaml.Node, file: str, what: str) -> dict[str, yaml.Node]:
    if not isinstance(node, yaml.MappingNode):
        raise _place(node, file).error(f"no fields of {what}", "NAME: VALUE")
    found: dict[str, yaml.Node] = {}
    for key, value in node.value:
        name = _text(key, file)
        if name in found:
            raise _place(key, file).error(f"{show(name)} for the second time", "each field once")
        found[name] = value
    return found


def _text(node: yaml.Node, file: str) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise _place(node, file).error("a list or a mapping", "one value")
    return str(node.value)
