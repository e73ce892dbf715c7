"""systems/*.yaml: the project's files, and the sentence for each mistake that a person can make."""

import shutil
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from railyard.base import strict_yaml
from railyard.base.errors import InputError
from railyard.base.strict_yaml import Document
from railyard.hardware import links
from railyard.rfm.settings import configuration
from railyard.site.references.load import references_of
from railyard.site.systems.load import find_system, load_system, load_systems
from railyard.site.systems.model import System
from railyard.site.systems.module_system import find_unloaded
from railyard.site.systems.node_view import HeaderModel, Kind
from railyard.stacks import model
from railyard.stacks.ask import Knobs

ROOT = Path(__file__).parents[3]

SITE = """\
system: site
description: A cluster
scheduler: slurm
launcher: srun
access: ["--partition=hdr"]
nodes: {count: 16}
fabrics:
  edr:
    description: EDR, two ports of one card
    kind: ib
    link: ib-edr
    slot: pcie3-x16
    rails:
      - {device: mlx5_0, port: 1, rails_per_card: 2, counters: mlx5}
      - {device: mlx5_0, port: 2, rails_per_card: 2, counters: mlx5}
  eth:
    description: Ethernet
    kind: tcp
    link: eth-10
    mtu: 9000
    rails:
      - {device: eth0, counters: netdev}
stacks:
  openmpi:
    modules: [openmpi/4.1.6]
    benchmarks: {osu: /opt/osu/bin}
  mvapich2:
    prefix: sw/mvapich2
    benchmarks: {osu: "{prefix}/libexec"}
    absent: {imb: not built here}
    env: {LD_LIBRARY_PATH: "{prefix}/lib:{home}/lib", OMP_NUM_THREADS: "1"}
disabled:
  - {fabric: edr, stack: mvapich2, rails: 2, reason: the second port is not cabled in rack 3}
time_limit: 10m
"""


def write(folder: Path, text: str, name: str = "site") -> Path:
    (folder / "systems").mkdir(exist_ok=True)
    path = folder / "systems" / f"{name}.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def refusal(folder: Path, old: str, new: str) -> str:
    assert old in SITE
    with pytest.raises(InputError) as caught:
        load_system(write(folder, SITE.replace(old, new, 1)))
    return str(caught.value)


def test_a_site_is_read(tmp_path: Path) -> None:
    system = load_system(write(tmp_path, SITE))
    assert system.fabrics["edr"].counts == (1, 2)
    assert system.fabrics["eth"].counts == (1,)
    assert system.nodes.number == 16
    assert system.access == ("--partition=hdr",)
    assert system.fabrics["edr"].link is links.LINKS["ib-edr"]
    assert [rail.port for rail in system.fabrics["edr"].rails] == [1, 2]
    entry = system.disabled[0]
    assert entry.covers("edr", "mvapich2", 2) and not entry.covers("edr", "mvapich2", 1)
    assert system.report_only is None


def test_what_disabled_leaves_out_means_all(tmp_path: Path) -> None:
    text = SITE.replace("fabric: edr, stack: mvapich2, rails: 2", "stack: mvapich2")
    (entry,) = load_system(write(tmp_path, text)).disabled
    assert entry.covers("edr", "mvapich2", 1) and entry.covers("eth", "mvapich2", 2)
    assert not entry.covers("edr", "openmpi", 1)


def test_one_rail_policy_is_switched_off_alone(tmp_path: Path) -> None:
    text = SITE.replace("rails: 2, reason", "policy: round-robin, reason")
    (entry,) = load_system(write(tmp_path, text)).disabled
    assert entry.covers("edr", "mvapich2", 2, policy="round-robin")
    assert not entry.covers("edr", "mvapich2", 2, policy="striping") and not entry.covers("edr", "mvapich2", 2)


def test_a_stack_fills_its_blanks(tmp_path: Path) -> None:
    stack = load_system(write(tmp_path, SITE)).stacks["mvapich2"]
    assert stack.executable("osu", Path("/home/x")) == "/home/x/sw/mvapich2/libexec"
    assert stack.environment(Path("/home/x")) == {
        "LD_LIBRARY_PATH": "/home/x/sw/mvapich2/lib:/home/x/lib",
        "OMP_NUM_THREADS": "1",
    }
    openmpi = load_system(write(tmp_path, SITE)).stacks["openmpi"]
    assert openmpi.executable("osu", Path("/home/x")) == "/opt/osu/bin"


def test_two_ports_of_one_card_share_its_slot(tmp_path: Path) -> None:
    fabric = load_system(write(tmp_path, SITE)).fabrics["edr"]
    one, two = fabric.limit(1, 1), fabric.limit(2, 1)
    assert one is not None and two is not None
    assert round(one.value_mb_s, 1) == 12421.2
    assert round(two.value_mb_s, 1) == 14403.5
    with pytest.raises(ValueError, match="3 rails of 2"):
        fabric.limit(3, 1)


def test_unlike_rails_are_bounded_apart(tmp_path: Path) -> None:
    text = SITE.replace("port: 2, rails_per_card: 2", "port: 2, slot: pcie3-x8").replace("1, rails_per_card: 2", "1")
    found = load_system(write(tmp_path, text)).fabrics["edr"].limit(2, 1)
    assert found is not None
    assert round(found.value_mb_s, 1) == round(12421.16 + 7201.76, 1)


def test_the_mtu_of_a_fabric_counts(tmp_path: Path) -> None:
    found = load_system(write(tmp_path, SITE)).fabrics["eth"].limit(1, 1)
    assert found is not None
    assert round(found.value_mb_s, 1) == 1239.2


NAME = 'expected a name of letters, digits, "_", ".", ":" and "-" that begins with a letter or digit'
DEVICE = "systems/site.yaml:15: fabrics.edr.rails[1].device: found"


@pytest.mark.parametrize(
    ("device", "sentence"),
    [
        ("--help", f'{DEVICE} "--help", {NAME}; a program would read it as an option'),
        ("$(reboot)", f'{DEVICE} "$(reboot)", {NAME}; a shell would run what is in "$("'),
        ("`reboot`", f'{DEVICE} "`reboot`", {NAME}; a shell would run what is in backticks'),
        ("a;b", f'{DEVICE} "a;b", {NAME}; a shell would end its command at ";"'),
        ("a\\nb", f'{DEVICE} "a\\nb", {NAME}; a shell would end its command at the line\'s end'),
        ("a\\eb", f'{DEVICE} "a\\x1bb", {NAME}'),
        ("a b", f'{DEVICE} "a b", {NAME}'),
        ("", f'{DEVICE} "", {NAME}'),
    ],
)
def test_a_device_that_a_shell_would_read_is_refused(tmp_path: Path, device: str, sentence: str) -> None:
    assert refusal(tmp_path, "{device: mlx5_0, port: 2", f'{{device: "{device}", port: 2') == sentence


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            'OMP_NUM_THREADS: "1"',
            'OMP_NUM_THREADS: "$(id)"',
            'systems/site.yaml:31: stacks.mvapich2.env.OMP_NUM_THREADS: found "$(id)", expected plain text; '
            'a shell would run what is in "$("',
        ),
        (
            "OMP_NUM_THREADS: ",
            '"A=1; B": ',
            'systems/site.yaml:31: stacks.mvapich2.env.A=1; B: found "A=1; B", '
            'expected the name of an environment variable; a shell would end its command at ";"',
        ),
        (
            "prefix: sw/mvapich2",
            "prefix: sw/`id`",
            'systems/site.yaml:28: stacks.mvapich2.prefix: found "sw/`id`", '
            "expected a path without blanks and shell characters; a shell would run what is in backticks",
        ),
        (
            "openmpi/4.1.6",
            "-x",
            'systems/site.yaml:25: stacks.openmpi.modules[0]: found "-x", '
            'expected a module name such as "openmpi/4.1.6"; a program would read it as an option',
        ),
        (
            "--partition=hdr",
            "--partition=hdr\\nrm -r x",
            'systems/site.yaml:5: access[0]: found "--partition=hdr\\nrm -r x", '
            "expected one line without control characters; a job's script would break at them",
        ),
        (
            "sw/mvapich2",
            '"{hom}/x"',
            'systems/site.yaml:28: stacks.mvapich2.prefix: found "{hom}/x", '
            'expected no blanks but {home} and {prefix}; did you mean "home"?',
        ),
        (
            "  edr:\n    desc",
            "  e dr:\n    desc",
            f'systems/site.yaml:8: fabrics.e dr: found "e dr", {NAME}',
        ),
        (
            "fabrics:",
            "fabriks:",
            'systems/site.yaml:1: fabrics: found nothing, expected the field "fabrics"; add it\n'
            'systems/site.yaml:7: fabriks: found the unknown field "fabriks", expected a known field; '
            'did you mean "fabrics"?',
        ),
        (
            "link: ib-edr",
            "link: ib-erd",
            'systems/site.yaml:11: fabrics.edr.link: found "ib-erd", expected a link of docs/reference/rates.md; '
            'did you mean "ib-edr"?',
        ),
        (
            "link: ib-edr",
            "link: {name: ib-edr, data_rate_gbit_s: 97, source: a blog}",
            'systems/site.yaml:11: fabrics.edr.link.name: found "ib-edr", expected a name that the table lacks; '
            "write link: ib-edr, or give yours another name",
        ),
        (
            "link: ib-edr",
            "link: {name: mine, data_rate: 97, source: a blog}",
            "systems/site.yaml:11: fabrics.edr.link.data_rate_gbit_s: found nothing, "
            'expected the field "data_rate_gbit_s"; add it\n'
            'systems/site.yaml:11: fabrics.edr.link.data_rate: found the unknown field "data_rate", '
            'expected a known field; did you mean "data_rate_gbit_s"?',
        ),
        (
            "link: ib-edr",
            "link: 3",
            "systems/site.yaml:11: fabrics.edr.link: found 3, expected a name or a mapping of fields",
        ),
        (
            "slot: pcie3-x16",
            "slot: pcie3x16",
            'systems/site.yaml:12: fabrics.edr.slot: found "pcie3x16", expected a slot of docs/reference/rates.md; '
            'did you mean "pcie3-x16"?',
        ),
        (
            "kind: ib",
            "kind: iba",
            'systems/site.yaml:10: fabrics.edr.kind: found "iba", expected a known value; did you mean "ib"?',
        ),
        (
            "link: ib-edr",
            "link: ib-edr\n    mtu: 1500",
            "systems/site.yaml:12: fabrics.edr.mtu: found 1500, "
            "expected a path MTU of ib-edr: 256, 512, 1024, 2048, 4096",
        ),
        (
            "mtu: 9000",
            "mtu: 90",
            "systems/site.yaml:20: fabrics.eth.mtu: found 90, expected an interface MTU from 576 to 65535",
        ),
        (
            "link: eth-10\n",
            "link: slingshot-11\n",
            "systems/site.yaml:20: fabrics.eth.mtu: found 9000, "
            "expected no mtu: the headers of slingshot-11 are not modelled; leave it out",
        ),
        (
            "      - {device: eth0, counters: netdev}\n",
            "      []\n",
            "systems/site.yaml:21: fabrics.eth.rails: found an empty list, expected at least one entry",
        ),
        (
            "{device: eth0, counters: netdev}",
            "{device: eth0, port: 1, counters: netdev}",
            "systems/site.yaml:22: fabrics.eth.rails[0].port: found 1, expected no port: a device of kind tcp is a "
            "network interface or a domain and has no ports; leave it out",
        ),
        (
            "port: 2",
            "port: 1",
            'systems/site.yaml:15: fabrics.edr.rails[1].device: found "mlx5_0" for the second time, '
            "expected each device and port once",
        ),
        (
            "rails_per_card: 2",
            "rails_per_card: 3",
            "systems/site.yaml:14: fabrics.edr.rails[0].rails_per_card: found 3, expected at most 2, the number of "
            "rails",
        ),
        (
            "counters: netdev",
            "counters: net",
            'systems/site.yaml:22: fabrics.eth.rails[0].counters: found "net", expected a known value; '
            'did you mean "netdev"?',
        ),
        (
            "    slot: pcie3-x16\n",
            "    slot: pcie3-x16\n    leaf_switches: {leaf1: 'n[1-8]', leaf2: [n9, 'n[9-15]']}\n",
            'systems/site.yaml:13: fabrics.edr.leaf_switches.leaf2: found "n9", expected each node at one leaf '
            "switch, once; it is listed there twice",
        ),
        (
            "    slot: pcie3-x16\n",
            "    slot: pcie3-x16\n    leaf_switches: {leaf1: n1, leaf2: [n2, N1.site.org]}\n",
            'systems/site.yaml:13: fabrics.edr.leaf_switches.leaf2: found "N1.site.org", expected each node at one '
            "leaf switch, once; it is also at leaf1",
        ),
        (
            "    slot: pcie3-x16\n",
            "    slot: pcie3-x16\n    leaf_switches: {leaf1: 'n[8-1]'}\n",
            'systems/site.yaml:13: fabrics.edr.leaf_switches.leaf1: found "n[8-1]", expected names of nodes, or ranges '
            "of them such as \"node[001-018,020]\"; '8-1' does not rise, or is more than 10000 names",
        ),
        (
            "    slot: pcie3-x16\n",
            "    slot: pcie3-x16\n    leaf_switches: {leaf1: []}\n",
            "systems/site.yaml:13: fabrics.edr.leaf_switches.leaf1: found no name, expected names of nodes, or "
            'ranges of them such as "node[001-018,020]"',
        ),
        (
            "  mvapich2:",
            "  mvapich_2:",
            'systems/site.yaml:27: stacks.mvapich_2: found "mvapich_2", expected a stack of docs/reference/stacks.md; '
            'did you mean "mvapich2"? If it is another MPI, declare it: like and differs',
        ),
        (
            "    modules: [openmpi/4.1.6]\n",
            "",
            "systems/site.yaml:24: stacks.openmpi: found neither prefix, modules, container nor spack, expected one "
            "of them; say where the stack is installed, or let Spack build it",
        ),
        (
            "/opt/osu/bin",
            '"{prefix}/bin"',
            'systems/site.yaml:26: stacks.openmpi.benchmarks.osu: found "{prefix}/bin", '
            "expected no {prefix}: the stack has none; add prefix",
        ),
        (
            "absent: {imb:",
            "absent: {osu:",
            'systems/site.yaml:30: stacks.mvapich2.absent.osu: found "osu" in both, '
            "expected a tool in benchmarks or in absent, not in both",
        ),
        (
            "rails: 2, reason",
            "rails: 0, reason",
            "systems/site.yaml:33: disabled[0].rails: found 0, expected greater than or equal to 1",
        ),
        (
            "rails: 2, reason",
            "rails: 3, reason",
            "systems/site.yaml:33: disabled[0].rails: found 3, expected at most 2, the rails that edr has",
        ),
        (
            "{fabric: edr, stack",
            "{fabric: erd, stack",
            'systems/site.yaml:33: disabled[0].fabric: found "erd", expected a fabric of site; did you mean "edr"?',
        ),
        (
            "reason: the second port is not cabled in rack 3",
            "",
            'systems/site.yaml:33: disabled[0].reason: found nothing, expected the field "reason"; add it',
        ),
        (
            "fabric: edr, stack: mvapich2, rails: 2, ",
            "",
            "systems/site.yaml:33: disabled[0]: found neither fabric, stack, rails, policy nor benchmark, expected "
            "at least one of them; name what is disabled",
        ),
        (
            "fabric: edr, stack: mvapich2, rails: 2, ",
            "benchmark: osu/osu_bandwidth, ",
            'systems/site.yaml:33: disabled[0].benchmark: found "osu/osu_bandwidth", expected a benchmark that '
            "Railyard knows; "
            'did you mean "osu/osu_bw"?',
        ),
        (
            "fabric: edr, stack: mvapich2, rails: 2, ",
            "without_reference: true, ",
            "systems/site.yaml:33: disabled[0].without_reference: found true, expected it only in a replayed system: "
            "here, a test without a reference fails; name benchmarks, or add references",
        ),
        (
            "rails: 2, reason",
            "policy: any, reason",
            'systems/site.yaml:33: disabled[0].policy: found "any", expected the name of a rail policy; leave it '
            "out: that means any",
        ),
        (
            "rails: 2, reason",
            "policy: stripping, reason",
            'systems/site.yaml:33: disabled[0].policy: found "stripping", expected a known value; '
            'did you mean "striping"?',
        ),
        (
            "    prefix: sw/mvapich2\n",
            "    prefix: sw/mvapich2\n    striping_thresholds: [64K, 4K]\n",
            "systems/site.yaml:29: stacks.mvapich2.striping_thresholds[1]: found striping-4K, expected a threshold "
            "that the stack can be given; mvapich2 on ib: striping-4K was asked for, and "
            "MV2_RAIL_SHARING_LARGE_MSG_THRESHOLD takes no less than 8192 B",
        ),
        (
            "    modules: [openmpi/4.1.6]\n",
            "    modules: [openmpi/4.1.6]\n    striping_thresholds: [1M]\n",
            "systems/site.yaml:26: stacks.openmpi.striping_thresholds[0]: found striping-1M, expected a threshold that "
            "the stack can be given; openmpi on ib: striping-1M was asked for, and no setting changes from which size "
            "pml/ucx stripes: only rendezvous messages of 32 KiB and more: no piece is smaller than 16 KiB "
            "(UCX_MIN_RNDV_CHUNK_SIZE). UCX estimates at its start, from the devices, where rendezvous begins: "
            "UCX_PROTO_INFO=y prints it",
        ),
        (
            "nodes: {count: 16}",
            "nodes: {}",
            "systems/site.yaml:6: nodes: found neither names nor count, expected one of them; "
            "name the nodes, or say how many there are",
        ),
        (
            "{count: 16}",
            "{count: 16, hardware: {cores: 64, memory: 480G, sockets: 3}}",
            "systems/site.yaml:6: nodes.hardware.sockets: found 3, expected a number of sockets that have as many each "
            "of the 64 cores",
        ),
        (
            "{count: 16}",
            "{names: [a, b, a]}",
            'systems/site.yaml:6: nodes.names: found "a" twice, expected each node once',
        ),
        (
            "nodes: {count: 16}",
            "nodes: {count: 16}\nreport_only: true",
            "systems/site.yaml:7: report_only: found true, "
            "expected false, or a sentence that says why there are no references",
        ),
        (
            "time_limit: 10m",
            "time_limit: 10 minutes",
            'systems/site.yaml:34: time_limit: found "10 minutes", expected a time such as "60s" or "1h30m"',
        ),
        (
            "scheduler: slurm",
            "scheduler: slurm\nhostnames: ['edr[0-9']",
            'systems/site.yaml:4: hostnames[0]: found "edr[0-9", expected a regular expression; '
            "unterminated character set at position 3",
        ),
        (
            "scheduler: slurm",
            "scheduler: slrum",
            'systems/site.yaml:3: scheduler: found "slrum", expected a scheduler of docs/howto/clusters.md; '
            'did you mean "slurm"?',
        ),
        (
            "launcher: srun",
            "launcher: srn",
            'systems/site.yaml:4: launcher: found "srn", expected a launcher of ReFrame or Railyard; did you mean '
            '"srun"?',
        ),
        (
            "launcher: srun",
            "launcher: srun\nmodules_system: lmood",
            'systems/site.yaml:5: modules_system: found "lmood", expected a kind of environment modules that ReFrame '
            'has; did you mean "lmod"?',
        ),
        (
            "{osu: /opt/osu/bin}",
            "{osuu: /opt/osu/bin}",
            'systems/site.yaml:26: stacks.openmpi.benchmarks.osuu: found "osuu", expected a tool of Railyard\'s '
            'benchmarks, or an application of this file; did you mean "osu"?',
        ),
        (
            "{imb: not built here}",
            "{ibm: not built here}",
            'systems/site.yaml:30: stacks.mvapich2.absent.ibm: found "ibm", expected a tool of Railyard\'s benchmarks, '
            'or an application of this file; did you mean "imb"?',
        ),
        (
            "system: site",
            "system: sight",
            'systems/site.yaml:1: system: found "sight", expected "site", the name of the file; '
            "rename the file to sight.yaml",
        ),
    ],
)
def test_what_is_refused_and_how(tmp_path: Path, old: str, new: str, sentence: str) -> None:
    assert refusal(tmp_path, old, new) == sentence


def test_modules_without_a_modules_system_are_named(tmp_path: Path) -> None:
    bare = load_system(write(tmp_path, SITE))
    assert dict(find_unloaded(bare)) == {
        "openmpi": "stacks.openmpi.modules: found 1 module (openmpi/4.1.6) and no modules_system, so nothing loads them"
    }
    for kind in ("nomod", "lmod"):
        system = load_system(write(tmp_path, f"{SITE}modules_system: {kind}\n"))
        assert bool(dict(find_unloaded(system))) is (kind == "nomod")
    assert dict(find_unloaded(bare.as_replay())) == {}


def test_nothing_is_measured_again_unless_the_file_says_so(tmp_path: Path) -> None:
    measure = load_system(write(tmp_path, SITE)).measure
    assert (measure.largest, measure.passes, measure.again.times) == (None, None, 0)
    measure = load_system(write(tmp_path, f"{SITE}measure: {{largest: 1M, passes: 1, again: {{times: 3}}}}\n")).measure
    assert (measure.largest, measure.passes) == (1 << 20, 1)
    assert (measure.again.times, measure.again.within) == (3, "60s")


def test_a_benchmark_has_the_numbers_that_the_file_states_and_no_others(tmp_path: Path) -> None:
    stated = "{duration: 2m, benchmarks: {osu/osu_bw: {repetitions: 50, window: 32}}}"
    measure = load_system(write(tmp_path, f"{SITE}measure: {stated}\n")).measure
    assert measure.duration == "2m"
    assert {name: each.given_amounts for name, each in measure.benchmarks.items()} == {
        "osu/osu_bw": {"repetitions": 50, "window": 32}
    }


MEASURES = [
    ("{again: {times: 11}}", "measure.again.times: found 11, expected less than or equal to 10"),
    ("{again: {times: -1}}", "measure.again.times: found -1, expected greater than or equal to 0"),
    ("{again: {within: 60s}}", 'measure.again.times: found nothing, expected the field "times"; add it'),
    (
        '{again: {times: 3, within: "60"}}',
        'measure.again.within: found "60", expected a time such as "60s" or "1h30m"',
    ),
    ("{passes: 0}", "measure.passes: found 0, expected greater than or equal to 1"),
    (
        "{largest: 1 MB}",
        'measure.largest: found "1 MB", expected a message size in bytes, with K, M or G for binary multiples '
        "(64K is 65536)",
    ),
    (
        "{agian: {times: 3}}",
        'measure.agian: found the unknown field "agian", expected a known field; did you mean "again"?',
    ),
    (
        "{benchmarks: {osu/osu_latancy: {repetitions: 5}}}",
        'measure.benchmarks.osu/osu_latancy: found "osu/osu_latancy", expected a benchmark that Railyard knows, '
        'or the tool of applications (hpl, npb, wrf, milc, installed); did you mean "osu/osu_latency"?',
    ),
    (
        "{benchmarks: {osu/osu_latency: {repetitions: 0}}}",
        "measure.benchmarks.osu/osu_latency.repetitions: found 0, expected greater than or equal to 1",
    ),
    (
        "{benchmarks: {osu/osu_latency: {warm_up: -1}}}",
        "measure.benchmarks.osu/osu_latency.warm_up: found -1, expected greater than or equal to 0",
    ),
]


@pytest.mark.parametrize(("written", "sentence"), MEASURES)
def test_how_a_system_is_measured_is_refused_where_it_cannot_be(tmp_path: Path, written: str, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        load_system(write(tmp_path, f"{SITE}measure:\n  {written[1:-1]}\n"))
    assert str(caught.value) == f"systems/site.yaml:36: {sentence}"


def test_two_systems_of_one_name(tmp_path: Path) -> None:
    write(tmp_path, SITE)
    write(tmp_path, SITE, "other")
    with pytest.raises(InputError) as caught:
        load_systems(tmp_path / "systems")
    assert str(caught.value) == (
        'systems/other.yaml:1: system: found the system "site" for the second time, expected one file per system '
        "(systems/site.yaml has that name); rename one"
    )


def test_folders_without_systems(tmp_path: Path) -> None:
    folder = tmp_path / "systems"
    with pytest.raises(InputError, match="found no such folder, expected the folder of systems"):
        load_systems(folder)
    folder.mkdir()
    with pytest.raises(InputError, match=r"found no system, expected at least one \*\.yaml file"):
        load_systems(folder)
    (folder / "a.yml").write_text("", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_systems(folder)
    assert str(caught.value) == (
        'systems/a.yml: found a file that ends in ".yml", expected ".yaml"; rename it to a.yaml'
    )


def test_an_unknown_system_is_offered_the_nearest() -> None:
    assert find_system(ROOT / "systems", "local").system == "local"
    with pytest.raises(InputError) as caught:
        find_system(ROOT / "systems", "virtuel")
    assert str(caught.value) == (
        'systems/: found no system "virtuel", expected a system of that name; did you mean "virtual"?'
    )


def test_a_system_alone_is_read_from_its_own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "systems"
    shutil.copytree(ROOT / "systems", folder)
    (folder / "alps-2024.yaml").write_text("system: [", encoding="utf-8")
    read: list[str] = []

    def note(path: Path, *name: str) -> Document:
        read.append(path.name)
        return strict_yaml.load(path, *name)

    monkeypatch.setattr("railyard.site.systems.node_part.load", note)
    found = find_system(folder, "virtual-flux", alone=True)
    assert (found.system, found.scheduler, read) == (
        "virtual-flux",
        "flux-batch",
        ["virtual-flux.yaml", "virtual.yaml"],
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("alps-2024", "system: ["),  # cut
        ("alps-2024", "system: alps-2024\n"),  # without its fields
        ("alps-2024", None),  # of another system
        ("alps-2025", None),  # no such file
        ("../systems/virtual", None),  # no name
        ("local", None),  # beside a file with the wrong ending
    ],
)
def test_what_is_wrong_with_a_system_is_the_same_sentence_when_it_is_read_alone(
    name: str, text: str | None, tmp_path: Path
) -> None:
    folder = tmp_path / "systems"
    shutil.copytree(ROOT / "systems", folder)
    (folder / "local.yml").write_text("", encoding="utf-8")
    other = (folder / "virtual.yaml").read_text(encoding="utf-8")
    (folder / "alps-2024.yaml").write_text(other if text is None else text, encoding="utf-8")
    said = []
    for alone in (False, True):
        with pytest.raises(InputError) as caught:
            find_system(folder, name, alone=alone)
        said.append(str(caught.value))
    assert said[0] == said[1]


def test_the_virtual_cluster_has_two_fabrics_three_libraries_and_two_stacks_without_mpi() -> None:
    virtual = load_systems(ROOT / "systems")["virtual"]
    assert {name: fabric.counts for name, fabric in virtual.fabrics.items()} == {"hsn": (1, 2), "eth": (1,)}
    assert {name: fabric.link.data_rate_gbit_s for name, fabric in virtual.fabrics.items()} == {
        "hsn": 0.12,
        "eth": 0.08,
    }
    assert list(virtual.stacks) == ["openmpi", "mpich", "intelmpi", "tcp", "libfabric"]
    assert virtual.nodes.names == ("vn1", "vn2", "vn3", "vn4")
    for name in ("openmpi", "mpich", "intelmpi"):
        stack = virtual.stacks[name]
        assert {"imb", "netpipe", "osu"} <= {*stack.benchmarks, *stack.absent}
    assert [set(virtual.stacks[name].benchmarks) for name in ("tcp", "libfabric")] == [
        {"iperf3", "netpipe"},
        {"fabtests"},
    ]
    two = virtual.fabrics["hsn"].limit(2, 1)
    assert two is not None
    assert (round(two.value_mb_s, 2), two.from_bytes, two.burst_bytes) == (28.93, 1 << 20, 256 << 10)


def test_only_local_takes_any_host() -> None:
    systems = load_systems(ROOT / "systems")
    assert [name for name, system in systems.items() if ".*" in system.hostnames] == ["local"]
    assert systems["virtual"].hostnames == ()
    assert systems["local"].report_only is not None
    assert systems["local"].fabrics["loopback"].limit(1, 1) is None


def test_kinds_and_headers_are_those_of_the_tables() -> None:
    assert set(get_args(Kind)) == set(model.KINDS)
    assert set(get_args(HeaderModel)) == set(links.HEADERS)


def test_a_system_is_frozen() -> None:
    virtual = load_systems(ROOT / "systems")["virtual"]
    with pytest.raises(ValueError, match="frozen"):
        virtual.launcher = "srun"


def test_every_field_of_the_site_is_used_once() -> None:
    """Removing any required field is an error: no field is silently filled."""
    data: dict[str, Any] = yaml.safe_load(SITE)
    for field in ("system", "description", "nodes", "fabrics", "stacks"):
        with pytest.raises(ValueError, match=field):
            System.model_validate({name: value for name, value in data.items() if name != field})


PROOF = """    slot: pcie3-x16
    proof: {accept_unproven: containers show no counters, idle_ms: 500, error_bounds: {symbol_error: 3, np_cnp_sent: 9}}
"""


def test_a_fabric_says_what_its_proofs_accept(tmp_path: Path) -> None:
    fabrics = load_system(write(tmp_path, SITE.replace("    slot: pcie3-x16\n", PROOF))).fabrics
    proof = fabrics["edr"].proof
    assert (proof.accept_unproven, proof.idle_ms) == ("containers show no counters", 500)
    assert proof.error_bounds == {"symbol_error": 3, "np_cnp_sent": 9}
    unsaid = fabrics["eth"].proof
    assert (unsaid.accept_unproven, unsaid.idle_ms, unsaid.error_bounds) == (None, None, {})


@pytest.mark.parametrize(
    ("proof", "sentence"),
    [
        (
            "{error_bounds: {symbol_errors: 3}}",
            'systems/site.yaml:13: fabrics.edr.proof.error_bounds.symbol_errors: found "symbol_errors", expected a '
            'counter of errors or a signal of the rails\' driver; did you mean "symbol_error"?',
        ),
        (
            "{error_bounds: {symbol_error: -1}}",
            "systems/site.yaml:13: fabrics.edr.proof.error_bounds.symbol_error: found -1, expected greater than or "
            "equal to 0",
        ),
        (
            "{idle_ms: 100}",
            "systems/site.yaml:13: fabrics.edr.proof.idle_ms: found 100, expected greater than or equal to 200",
        ),
        (
            "{accept_unprooven: no reason}",
            'systems/site.yaml:13: fabrics.edr.proof.accept_unprooven: found the unknown field "accept_unprooven", '
            'expected a known field; did you mean "accept_unproven"?',
        ),
    ],
)
def test_what_a_proof_cannot_say_is_refused(tmp_path: Path, proof: str, sentence: str) -> None:
    assert refusal(tmp_path, "    slot: pcie3-x16\n", f"    slot: pcie3-x16\n    proof: {proof}\n") == sentence


APPLICATIONS = SITE.replace("nodes: {count: 16}", "nodes: {count: 16, hardware: {cores: 64, memory: 480G}}") + (
    "npb_classes: [C, D]\n"
    "wrf_cases: {conus12km-v4: /data/wrf}\n"
    "applications:\n"
    "  osu: {figure: '(?P<seconds>[0-9]+) s', success: done}\n"
)


def test_what_applications_need_is_read(tmp_path: Path) -> None:
    system = load_system(write(tmp_path, APPLICATIONS))
    hardware = system.nodes.hardware
    assert hardware is not None
    assert (hardware.cores, hardware.memory, hardware.base_ghz) == (64, 480 << 30, None)
    assert hardware.peak_gflop_s(2.0) is None
    assert (system.npb_classes, dict(system.wrf_cases)) == (("C", "D"), {"conus12km-v4": "/data/wrf"})
    assert system.applications["osu"].ranks_per_node == 1
    assert load_system(write(tmp_path, SITE)).nodes.hardware is None


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            "  osu: {figure",
            "  gamess: {figure",
            'applications.gamess: found "gamess", expected the name of a benchmark in one of the stacks; add '
            "benchmarks: {gamess: PATH} to a stack",
        ),
        (
            "  osu: {figure",
            "  osu: {without_mpi: ['{hosts}'], figure",
            "applications.osu.without_mpi: found words without MPI, and osu only with openmpi and mvapich2, expected "
            "it also with tcp; add benchmarks: {osu: PATH} to that stack, or leave the words out",
        ),
        (
            "conus12km-v4",
            "conus12km",
            'wrf_cases.conus12km: found "conus12km", expected a case of WRF; did you mean "conus12km-v4"?',
        ),
        (
            "  osu: {figure",
            "  osu: {arguments: ['{agents}'], figure",
            'applications.osu.arguments[0]: found "{agents}", expected no blanks but {ranks} and {nodes}',
        ),
        (
            "  osu: {figure",
            "  osu: {arguments: ['{agent}'], figure",
            'applications.osu.arguments[0]: found "{agent}", expected {agent} only among the words of without_mpi; '
            "an MPI's launcher starts all processes, and names no nodes to them",
        ),
        ("(?P<seconds>[0-9]+) s", "([0-9]+) s", "expected a pattern with a group (?P<seconds>…)"),
        ("cores: 64", "cores: 0", "nodes.hardware.cores: found 0, expected greater than or equal to 1"),
        ("npb_classes: [C, D]", "npb_classes: [C, Z]", 'npb_classes[1]: found "Z"'),
    ],
)
def test_a_mistake_in_what_applications_need_is_a_sentence(tmp_path: Path, old: str, new: str, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        load_system(write(tmp_path, APPLICATIONS.replace(old, new)))
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("switches", "said"),
    [
        (
            "{leaf1: [n1, n2], leaf2: n4}",
            'systems/site.yaml:13: fabrics.edr.leaf_switches.leaf2: found "n4", expected a node of site; known: '
            "n1, n2, n3",
        ),
        (
            "{leaf1: [n1, n2]}",
            'systems/site.yaml:13: fabrics.edr.leaf_switches: found no switch for "n3", expected every node of the '
            "system at a leaf switch, or no switches at all",
        ),
    ],
)
def test_named_nodes_are_those_at_the_leaf_switches(tmp_path: Path, switches: str, said: str) -> None:
    text = SITE.replace("{count: 16}", "{names: [n1, n2, n3]}")
    slot = "    slot: pcie3-x16\n"
    with pytest.raises(InputError) as refused:
        load_system(write(tmp_path, text.replace(slot, f"{slot}    leaf_switches: {switches}\n")))
    assert str(refused.value).removeprefix(f"{tmp_path}/") == said
    whole = load_system(
        write(tmp_path, text.replace(slot, f"{slot}    leaf_switches: {{leaf1: 'n[1-2]', leaf2: n3}}\n"))
    )
    assert whole.fabrics["edr"].leaf_switches == {"leaf1": ("n1", "n2"), "leaf2": ("n3",)}


#: A fabric of RoCE; this stack can be set to all three.
ROCE = SITE.replace("kind: ib\n    link: ib-edr", "kind: roce\n    link: roce-100").replace("mvapich2", "hpcx")
CLASS = "gid_index: 3\n    traffic_class: 104\n    service_level: 5"


def with_class(said: str, site: str = ROCE) -> str:
    return site.replace("    slot: pcie3-x16\n", f"    slot: pcie3-x16\n    {said}\n")


def test_a_fabric_says_its_class_once_for_every_stack(tmp_path: Path) -> None:
    roce = load_system(write(tmp_path, with_class(CLASS))).fabrics["edr"]
    assert roce.knobs == Knobs(3, 104, 5)
    assert load_system(write(tmp_path, ROCE)).fabrics["edr"].knobs == Knobs()
    infiniband = with_class("gid_index: 0\n    service_level: 2", SITE)
    assert load_system(write(tmp_path, infiniband)).fabrics["edr"].knobs == Knobs(0, None, 2)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            with_class("traffic_class: 104", SITE),
            "systems/site.yaml:13: fabrics.edr.traffic_class: found 104, expected it only in a fabric of kind roce, "
            "and this one is ib: it is in the IP header of RoCE v2; InfiniBand's packets in a subnet have none, and "
            "service_level chooses the lane; leave it out",
        ),
        (
            SITE.replace("    mtu: 9000\n", "    mtu: 9000\n    gid_index: 3\n"),
            "systems/site.yaml:21: fabrics.eth.gid_index: found 3, expected it only in a fabric of kind ib or roce, "
            "and this one is tcp: other ports have no table of GIDs; leave it out",
        ),
        (
            SITE.replace("    mtu: 9000\n", "    mtu: 9000\n    service_level: 3\n"),
            "systems/site.yaml:21: fabrics.eth.service_level: found 3, expected it only in a fabric of kind ib, roce "
            "or opa, and this one is tcp: other packets have none; leave it out",
        ),
        (
            with_class("traffic_class: 256"),
            "systems/site.yaml:13: fabrics.edr.traffic_class: found 256, expected less than or equal to 255",
        ),
        (
            with_class("gid_index: 3\n    fabric_state: {gid_index: 1}"),
            "systems/site.yaml:14: fabrics.edr.fabric_state.gid_index: found 1, expected 3, the fabric's own "
            "gid_index; leave it out here",
        ),
        (
            with_class("traffic_class: 104").replace("OMP_NUM_THREADS:", "UCX_IB_TRAFFIC_CLASS:"),
            'systems/site.yaml:32: stacks.hpcx.env.UCX_IB_TRAFFIC_CLASS: found "1", expected 104, as the fabric edr '
            "says; leave it out here",
        ),
    ],
)
def test_a_class_that_packets_cannot_have_is_refused(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        load_system(write(tmp_path, text))
    assert str(caught.value) == sentence


@pytest.fixture(scope="module")
def systems() -> dict[str, System]:
    return load_systems(ROOT / "systems")


def test_the_virtual_cluster_under_slurm_is_the_virtual_cluster(systems: dict[str, System]) -> None:
    plain, slurm = systems["virtual"], systems["virtual-slurm"]
    for field in ("provider", "nodes", "fabrics", "disabled", "time_limit", "report_only"):
        assert getattr(slurm, field) == getattr(plain, field), field
    assert (slurm.scheduler, slurm.launcher, slurm.jobs.max_pending) == ("slurm-nodb", "srun", "2m")
    assert list(slurm.stacks) == list(plain.stacks)


@pytest.mark.fault("session", "a wrong line in the file that another is like", "systems/virtual.yaml:")
def test_what_is_wrong_in_a_file_is_said_of_it_and_not_of_one_that_is_like_it(tmp_path: Path, promise: str) -> None:
    folder = tmp_path / "systems"
    folder.mkdir()
    for name in ("virtual", "virtual-slurm"):
        text = (ROOT / f"systems/{name}.yaml").read_text(encoding="utf-8")
        (folder / f"{name}.yaml").write_text(text.replace("burst: 128K", "burst: many"), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_systems(folder)
    assert str(caught.value).startswith(promise)
    assert "virtual-slurm" not in str(caught.value)


def test_mappings_are_put_together_and_lists_are_not(systems: dict[str, System]) -> None:
    plain, slurm = systems["virtual"].stacks["openmpi"], systems["virtual-slurm"].stacks["openmpi"]
    assert slurm.env == {"OMPI_MCA_mpi_yield_when_idle": "1"}
    assert (slurm.prefix, slurm.benchmarks) == (plain.prefix, plain.benchmarks)
    assert slurm.spack == plain.spack


def test_it_has_the_others_references(systems: dict[str, System]) -> None:
    plain = references_of(ROOT / "references", systems["virtual"])
    slurm = references_of(ROOT / "references", systems["virtual-slurm"])
    assert slurm.entries == plain.entries
    assert slurm.relations == plain.relations
    assert (slurm.file, slurm.system.system) == ("references/virtual.yaml", "virtual-slurm")
    assert not (ROOT / "references/virtual-slurm.yaml").exists()


def test_reframe_finds_the_clusters_own_slurm(systems: dict[str, System]) -> None:
    made = {system["name"]: system for system in configuration(Path("/site"), systems)["systems"]}
    assert made["virtual-slurm"]["env_vars"] == [
        ["PATH", "/site/.railyard/testbed/slurm/bin:$PATH"],
        ["SLURM_CONF", "/site/.railyard/testbed/slurm/slurm.conf"],
    ]
    assert made["virtual"]["env_vars"] == []
    assert {partition["scheduler"] for partition in made["virtual-slurm"]["partitions"]} == {"slurm-nodb"}


BASE = """\
system: base
description: made for this test
hostnames: [login1]
nodes: {count: 2}
report_only: made for this test
fabrics:
  eth: {description: one card, kind: tcp, link: eth-10, rails: [{device: eth0, counters: netdev}]}
stacks:
  openmpi: {prefix: /opt/openmpi}
"""


def load_with(folder: Path, text: str, other: str = BASE) -> System:
    (folder / "systems").mkdir()
    (folder / "systems/base.yaml").write_text(other, encoding="utf-8")
    (folder / "systems/own.yaml").write_text(text, encoding="utf-8")
    return load_system(folder / "systems/own.yaml")


def test_host_names_are_each_systems_own(tmp_path: Path) -> None:
    found = load_with(tmp_path, "system: own\nlike: base\n")
    assert (found.hostnames, found.description, found.nodes.number) == ((), "made for this test", 2)


@pytest.mark.parametrize(
    ("text", "other", "sentence"),
    [
        (
            "system: own\nlike: bas\n",
            BASE,
            'systems/own.yaml:2: like: found "bas", expected another file of the folder; did you mean "base"?',
        ),
        (
            "system: own\nlike: own\n",
            BASE,
            'systems/own.yaml:2: like: found "own", expected another file of the folder; known: base',
        ),
        (
            "system: own\nlike: base\n",
            BASE + "like: third\n",
            'systems/own.yaml:2: like: found "base", which is itself like "third", expected a system that is not '
            "like another",
        ),
        (
            "system: own\nlike: base\nnodes: {count: 0}\n",
            BASE,
            "systems/own.yaml:3: nodes.count: ",
        ),
    ],
    ids=["unknown", "itself", "a chain", "its own mistake"],
)
def test_mistakes_are_sentences(tmp_path: Path, text: str, other: str, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        load_with(tmp_path, text, other)
    assert str(caught.value).startswith(sentence)
