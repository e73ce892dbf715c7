"""Writes the two files of a new cluster as texts to review. What was guessed says so; all else was read.

Everything that reads the files checks the texts before they are written.
"""

import json
import re
import tempfile
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from railyard.base.errors import InputError, SetupError
from railyard.base.wording import listing
from railyard.cluster.detect.detected_cluster import DetectedCluster, FoundStack
from railyard.cluster.detect.fabrics import FoundFabric, sharing_slot
from railyard.cluster.detect.ports import Port
from railyard.cluster.detect.scheduler import SLURM_TOPOLOGY
from railyard.hardware.limits import DEFAULT_MAX_PAYLOAD
from railyard.site.references.load import references_of
from railyard.site.systems.jobs import FAMILIES
from railyard.site.systems.load import load_system
from railyard.site.systems.model import System
from railyard.stacks.ask import why_not
from railyard.stacks.model import STACKS

#: Built if a stack has no benchmarks of its own: those that the everyday checks need.
SPACK_BENCHMARKS = ("osu", "imb")
#: Also built if a node's cores and memory are known, since its problem depends on them.
NEEDS_HARDWARE = "hpl"
GUESSED = "GUESSED"
TRAP = "TRAP"
MISSING = "MISSING"
LEFT_OUT = "LEFT OUT"
_WIDTH = 118
# YAML 1.1 does not read these as text.
_YAML_WORDS = ("y", "n", "yes", "no", "on", "off", "true", "false", "null")
REPORT_ONLY = (
    "nothing has been measured here yet: runs are judged only by the limit and the day-one floor of their links"
)
#: How ``where`` begins if it names a job: its rails are those that runs will have.
IN_JOB = "inside a job"
_TITLES = {
    "ib": "InfiniBand",
    "roce": "RoCE",
    "opa": "Omni-Path",
    "slingshot": "Slingshot",
    "efa": "Elastic Fabric Adapter",
    "tcp": "Ethernet",
}


def system_text(found: DetectedCluster, name: str, where: str, environments: Collection[str]) -> str:
    """Return systems/NAME.yaml. ``where``: what was looked at. ``environments``: what Spack builds benchmarks for."""
    lines = [
        "# yaml-language-server: $schema=schema.json",
        *comment(
            f"Written by `railyard detect` on {found.node.hostname or 'a nameless host'} ({where}). Read it through: "
            f"a line with {GUESSED} was not read from the machine. Rails are those of this host"
            + (
                "."
                if where.startswith(IN_JOB)
                else ": a login host often has others than the nodes; run `railyard detect` inside a job to be sure."
            )
        ),
        *_comment_each(TRAP, found.traps),
        *_comment_each(MISSING, missing_parts(found, environments)),
        *_comment_each(LEFT_OUT, found.left_out),
        f"system: {scalar(name)}",
        f"description: {scalar(_description(found))}",
        *_gpus(found),
        *_hostnames(found),
        *_scheduling(found),
        *_nodes(found, where),
        f"report_only: {scalar(REPORT_ONLY)}",
        "",
        "fabrics:",
        *(line for fabric in found.fabrics for line in _fabric(fabric, _switches(found, name, fabric))),
        "",
        "stacks:",
        *stacks_text(found, environments),
        "",
        "time_limit: 10m",
    ]
    return "\n".join(lines) + "\n"


def switches_text(found: DetectedCluster) -> str:
    """Return systems/NAME.topology; empty if the scheduler states no switches, or none that a file can name."""
    return (
        "" if found.switches is None or found.switches.doubt is not None or not found.fabrics else found.switches.text
    )


def references_text(name: str) -> str:
    """Return references/NAME.yaml for a cluster about which nothing is known yet."""
    lines = [
        "# yaml-language-server: $schema=schema.json",
        *comment(
            f"None yet, and systems/{name}.yaml says why (report_only). After healthy runs `railyard capture --system "
            f"{name}` proposes entries from them; what a vendor promised is an entry of kind contract. With the first "
            f"entry report_only becomes false."
        ),
        f"system: {scalar(name)}",
        "entries: []",
    ]
    return "\n".join(lines) + "\n"


def _description(found: DetectedCluster) -> str:
    """Return the system in one line: its rails, its processors and GPUs."""
    rails = [
        f"{_count(len(fabric.ports))} of {_TITLES[fabric.first.kind]} {_rate(fabric.first)}" for fabric in found.fabrics
    ]
    parts = [listing(rails) or "no network"]
    if found.node.processor:
        parts.append(found.node.processor)
    if found.node.gpus:
        models = list(dict.fromkeys(gpu.model for gpu in found.node.gpus))
        parts.append(f"{len(found.node.gpus)} GPUs ({listing(models)})")
    return "; ".join(parts)


def _rate(port: Port) -> str:
    if port.rate is None:
        return "of unknown rate"
    # The kernel calls an Ethernet port 4X EDR too, but it is not InfiniBand.
    return port.rate.words if port.kind == "ib" else f"{port.rate.gbit_s:g} Gbit/s"


def _count(number: int) -> str:
    return "one rail" if number == 1 else f"{number} rails"


def _comment_each(mark: str, sentences: Iterable[str]) -> Iterator[str]:
    for sentence in sentences:
        yield from comment(f"{mark}: {sentence}")


def _gpus(found: DetectedCluster) -> Iterator[str]:
    """Yield how many GPUs are in each memory domain; the rails' comments say the rails' domains."""
    domains = [gpu.numa for gpu in found.node.gpus if gpu.numa is not None]
    if domains:
        counts = [f"{domains.count(domain)} on NUMA {domain}" for domain in sorted(set(domains))]
        yield from comment(f"GPUs: {listing(counts)}.")


def _hostnames(found: DetectedCluster) -> Iterator[str]:
    stem = re.sub(r"[0-9]+$", "", found.node.hostname.split(".")[0])
    if not stem:
        yield "hostnames: []"
        return
    yield from comment(f"{GUESSED}: on hosts with this name this system is used without --system; add login hosts.")
    pattern = re.escape(stem).replace("\\-", "-") + "[0-9]*"
    yield f"hostnames: [{scalar(pattern)}]"


def _scheduling(found: DetectedCluster) -> Iterator[str]:
    scheduler = found.scheduler
    for remark in scheduler.remarks:
        yield from comment(f"{GUESSED}: {remark}")
    others = [one for one in scheduler.partitions if one.up and one is not scheduler.default_partition]
    if others:
        sizes = [one.name if one.nodes is None else f"{one.name} ({one.nodes} nodes)" for one in others]
        yield from comment(
            f"Other partitions: {', '.join(sizes)}. A partition with different rails needs its own system file."
        )
    yield f"scheduler: {scheduler.name}"
    yield f"launcher: {scheduler.launcher}"
    if scheduler.access:
        yield f"access: [{', '.join(scalar(option) for option in scheduler.access)}]"
    if found.software.modules_system:
        yield f"modules_system: {found.software.modules_system}"
    if scheduler.name in FAMILIES:
        yield from comment(
            "Whole nodes: counters of rails see all jobs of a node, and a path proof needs the run's alone."
        )
        asked = [f"resources: [{', '.join(map(scalar, scheduler.resources))}]"] if scheduler.resources else []
        yield f"jobs: {{{', '.join([*asked, *(['exclusive: true'] if scheduler.exclusive else [])])}}}"


def _nodes(found: DetectedCluster, where: str) -> Iterator[str]:
    scheduler, processors = found.scheduler, found.node.processors
    yield "nodes:"
    if scheduler.name == "local":
        yield f"  names: [{scalar(found.node.hostname.split('.')[0] or 'localhost')}]"
    else:
        if scheduler.nodes is None:
            yield f"  # {GUESSED}: the scheduler did not say how many; two are what most checks take."
        yield f"  count: {scheduler.nodes or 2}"
    if processors is None:
        unread = "Not read: how many cores and how much memory a node has. State it: HPL needs both, others the cores."
        yield from comment(unread, "  ")
        yield "  # hardware: {cores: 64, memory: 256G}"
        return
    name, is_of_nodes = found.node.microarchitecture, scheduler.name == "local" or where.startswith(IN_JOB)
    if not is_of_nodes:
        yield from comment(f"{GUESSED}: cores and memory are those of this host; a job may have fewer.", "  ")
        if name is not None:
            # What is built for another processor may not run at all.
            said = f"add microarchitecture: {name}, and Spack builds for it."
            yield from comment(f"This host is a {name}: if the nodes are too, {said}", "  ")
    more = f"threads_per_core: {processors.threads_a_core}"
    if processors.sockets is not None:
        more += f", sockets: {processors.sockets}"
    if found.node.domains is not None:
        more += f", numa_domains: {found.node.domains}"
    if name is not None and is_of_nodes:
        more += f", microarchitecture: {name}"
    yield f"  hardware: {{cores: {processors.cores}, memory: {processors.memory}, {more}}}  # {processors.words}"


def _switches(found: DetectedCluster, name: str, fabric: FoundFabric) -> Iterator[str]:
    """Yield the lines that name the file with the scheduler's switches: they are taken for the first fabric's."""
    stated = found.switches
    if stated is None or fabric is not found.fabrics[0]:
        return
    if stated.doubt is not None:
        yield from comment(f"Not used: {' '.join(SLURM_TOPOLOGY)} says: {stated.doubt}.", "    ")
        return
    said = f"{GUESSED}: the switches that Slurm knows ({stated.words}) are taken for those of this fabric."
    yield from comment(said, "    ")
    yield f"    topology: {{slurm: {scalar(f'{name}.topology')}}}"


def _fabric(fabric: FoundFabric, switches: Iterable[str]) -> Iterator[str]:
    first = fabric.first
    yield f"  {fabric.name}:"
    for doubt in fabric.doubts:
        yield from comment(f"{GUESSED}: {doubt}", "    ")
    yield f"    description: {scalar(f'{_TITLES[first.kind]} {_rate(first)}, {_count(len(fabric.ports))}')}"
    yield f"    kind: {first.kind}"
    yield from _link(fabric)
    if fabric.slot is not None:
        yield f"    slot: {fabric.slot}"
    if fabric.max_payload not in (None, DEFAULT_MAX_PAYLOAD):
        yield f"    max_payload: {fabric.max_payload}"
    if fabric.mtu is not None:
        yield f"    mtu: {fabric.mtu}"
    if first.gid_index is not None:
        said_by = f"RoCE v2 by IPv4 has GID index {first.gid_index} on {first.name}; UCX and perftest find it."
        yield from comment(said_by, "    ")
    yield from switches
    yield "    rails:"
    for port in fabric.ports:
        yield f"      - {_rail(port, fabric)}"


def _link(fabric: FoundFabric) -> Iterator[str]:
    first = fabric.first
    if first.link is not None:
        yield f"    link: {first.link}"
        return
    rate = f"{first.rate.gbit_s:g}" if first.rate else "null"
    said = f"the kernel says {first.rate.words}" if first.rate else "the kernel says no rate"
    yield "    link:"
    yield f"      name: {fabric.name}-link"
    yield f"      data_rate_gbit_s: {rate}"
    yield f"      source: {scalar(f'{said} of {first.name}; replace it with the figure of its vendor')}"


def _rail(port: Port, fabric: FoundFabric) -> str:
    fields = [f"device: {scalar(port.device)}"]
    # Stacks and counters name a device with its port if a card has several ports.
    if port.port is not None:
        fields.append(f"port: {port.port}")
    if port.pci.slot is not None and port.pci.slot != fabric.slot:
        fields.append(f"slot: {port.pci.slot}")
    sharing = sharing_slot(port, fabric)
    if sharing > 1:
        fields.append(f"rails_per_card: {sharing}")
    if port.bonded > 1:
        fields.append(f"bonded_ports: {port.bonded}")
    fields.append(f"counters: {port.counters}")
    said = [port.pci.address or ""]
    said.append(f"NUMA {port.pci.numa}" if port.pci.numa is not None else "")
    said.append(f"interface {port.netdev}" if port.netdev and port.netdev != port.device else "")
    said.append("a stream is judged by one of its ports" if port.bonded > 1 else "")
    said.append(f"firmware {port.firmware}" if port.firmware else "")
    comment = ", ".join(words for words in said if words)
    return f"{{{', '.join(fields)}}}" + (f"  # {comment}" if comment else "")


def comment(sentence: str, indent: str = "") -> list[str]:
    """Return a comment, broken into lines of at most 118 characters."""
    lines, line = [], f"{indent}#"
    for word in sentence.split():
        if len(line) + 1 + len(word) > _WIDTH and line != f"{indent}#":
            lines.append(line)
            line = f"{indent}#"
        line += f" {word}"
    return [*lines, line]


def scalar(text: str) -> str:
    """Return any text in a form that YAML takes: plain if that is safe, else in JSON's quotes."""
    plain = re.fullmatch(r"[A-Za-z/][\w./+=-]*", text, re.ASCII) and text.lower() not in _YAML_WORDS
    return text if plain else json.dumps(text, ensure_ascii=True)


def stacks_text(found: DetectedCluster, environments: Collection[str]) -> Iterator[str]:
    """Yield the lines below ``stacks:``; ``environments`` are the stacks whose benchmarks Spack builds."""
    listed = _usable_stacks(found)
    for stack in found.software.stacks:
        if stack not in listed:
            yield from comment(f"{stack.name} is there ({stack.how}), and nothing of it runs over these fabrics.", "  ")
    for doubt in found.software.doubts:
        yield from comment(f"{GUESSED}: {doubt}", "  ")
    for stack in listed:
        yield from _stack(stack, environments, found)
    if not any(STACKS[stack.name].is_mpi for stack in listed):
        yield from comment(f"{GUESSED}: no MPI was found on the search path or among modules: Spack builds one.", "  ")
        yield "  openmpi:"
        yield from _benchmark_lines(found)


def missing_parts(found: DetectedCluster, environments: Collection[str]) -> tuple[str, ...]:
    """Return a sentence for each missing thing without which benchmarks cannot run, whatever else the file says."""
    sentences = list(found.scheduler.missing)
    for stack in _usable_stacks(found):
        if not stack.benchmarks and stack.name not in environments:
            sentences.append(
                f"{stack.name} has no benchmarks: none was found, and Spack builds none for it; build OSU or IMB with "
                f"its compiler wrapper and name them under benchmarks"
            )
    if found.software.spack is None and _is_built(found, environments):
        sentences.append(
            "Spack should build benchmarks, but is not on the search path: railyard spack bootstrap fetches it"
        )
    return tuple(sentences)


def _usable_stacks(found: DetectedCluster) -> tuple[FoundStack, ...]:
    """Return the stacks that can run over at least one of the fabrics."""
    kinds = {fabric.first.kind for fabric in found.fabrics}
    return tuple(
        stack for stack in found.software.stacks if any(why_not(stack.name, kind, 1) is None for kind in kinds)
    )


def _is_built(found: DetectedCluster, environments: Collection[str]) -> bool:
    listed = _usable_stacks(found)
    bare = any(not stack.benchmarks and stack.name in environments for stack in listed)
    return bare or all(not STACKS[stack.name].is_mpi for stack in listed)


def _stack(stack: FoundStack, environments: Collection[str], found: DetectedCluster) -> Iterator[str]:
    yield f"  {stack.name}:  # {stack.how}"
    if stack.module is not None:
        yield f"    modules: [{scalar(stack.module)}]"
    elif stack.prefix is not None:
        yield f"    prefix: {scalar(stack.prefix)}"
    if stack.benchmarks:
        yield "    benchmarks:"
        for tool, path in stack.benchmarks.items():
            yield f"      {tool}: {scalar(path)}"
        lacking = [tool for tool in SPACK_BENCHMARKS if tool not in stack.benchmarks]
        if lacking and STACKS[stack.name].is_mpi and stack.name in environments:
            yield from comment(
                f"Not found: {' and '.join(lacking)}. In place of these, `spack: {{benchmarks: [osu, imb]}}` builds "
                f"both.",
                "    ",
            )
    elif stack.name in environments:
        yield from comment(f"{GUESSED}: none of its benchmarks was found, so Spack builds them.", "    ")
        yield from _benchmark_lines(found)
    else:
        yield "    # No benchmarks of it were found, and no environment of Spack is for it: name them under benchmarks."


def _benchmark_lines(found: DetectedCluster) -> Iterator[str]:
    tools = [*SPACK_BENCHMARKS, *([NEEDS_HARDWARE] if found.node.processors else [])]
    yield "    spack:"
    yield f"      benchmarks: [{', '.join(tools)}]"


@dataclass(frozen=True, slots=True)
class Texts:
    """The two files of one system, and the file with its switches; empty if the scheduler states none."""

    name: str
    system: str
    references: str
    switches: str = ""


def check_texts(texts: Texts) -> System:
    """Return the system that the texts describe. Raises InputError if Railyard would refuse them."""
    with tempfile.TemporaryDirectory(prefix="railyard-detect-") as folder:
        paths = _put(Path(folder), texts)
        system = load_system(paths[0])
        references_of(paths[1].parent, system)
    return system


def write(home: Path, texts: Texts, *, replace: bool) -> tuple[Path, Path]:
    """Write systems/NAME.yaml and references/NAME.yaml and return their paths.

    Raises InputError if one is there already and ``replace`` is not set, or if Railyard would refuse the text. Raises
    SetupError if the folder cannot be written. Then it writes nothing.
    """
    check_texts(texts)
    for folder in ("systems", "references"):
        path = home / folder / f"{texts.name}.yaml"
        if path.exists() and not replace:
            raise InputError(
                f"{folder}/{path.name}", "a file already", "none, or --replace",
                action="--name NAME takes another name; without --write the file is printed only",
            )  # fmt: skip
    try:
        return _put(home, texts)
    except OSError as error:
        raise SetupError(f"{home}: systems/ and references/ cannot be written: {error.strerror}") from None


def _put(home: Path, texts: Texts) -> tuple[Path, Path]:
    paths = (home / "systems" / f"{texts.name}.yaml", home / "references" / f"{texts.name}.yaml")
    for path, text in zip(paths, (texts.system, texts.references), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    if texts.switches:
        (home / "systems" / f"{texts.name}.topology").write_text(texts.switches, encoding="utf-8")
    return paths
