"""What NCCL's own log says about the path: it fails rule 4 if it contradicts the nodes, and never passes it."""

import pytest

from railyard.parsers import nccl
from railyard.site.site import Site
from railyard.verdict.gpu.log_word import LogWord, word
from railyard.verdict.gpu.run import GpuTarget, of_words
from railyard.verdict.stored_outputs.collectives import judge_collectives
from railyard.verdict.wording import gpu_log as log_words
from tests.made.nccl_output import curve, output

TWO = of_words("gpus=8,nvlink=4,nics=2,link=ib-ndr")


def lines(*said: str, host: str = "node1") -> str:
    return "".join(f"{host}:100:101 [0] NCCL INFO {each}\n" for each in said)


def repeat_per_pid(text: str, first: int = 4000) -> str:
    """Return the lines of each of eight processes."""
    return "".join(text.replace(":100:", f":{pid}:") for pid in range(first, first + 8))


def read(text: str, target: GpuTarget = TWO) -> LogWord:
    spoken = nccl.parse(text).nccl
    assert spoken is not None
    return word(spoken.log, target, None)


BOTH = "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:192.0.2.1<0>"
SENT = "Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA"


def test_without_a_log_nothing_is_said() -> None:
    found = word(None, TWO, None)
    assert (found.rule.state, found.remarks) == ("not-judged", ())
    assert "the output has no log of NCCL (NCCL_DEBUG=INFO)" in found.rule.sentence


def test_what_the_log_names_is_said_and_proves_nothing() -> None:
    found = read(lines(BOTH, "Using network IB", SENT.replace("/0/", "/1/"), SENT))
    assert found.rule.state == "not-judged" and found.remarks == ()
    used = log_words.networks_and_nics(["IB"], {"node1": ["mlx5_0:1", "mlx5_1:1"]}, 0)
    assert found.rule.sentence == (f"not judged: {log_words.no_counter(used)}")


def test_a_log_that_names_no_network_says_so() -> None:
    found = read(lines("cudaDriverVersion 12010"))
    assert "NCCL's log does not name a network or a NIC" in found.rule.sentence


SOCKETS = lines(BOTH, "Using network IB") + lines(
    "NET/IB : No device found.", "NET/Socket : Using [0]eth0:192.0.2.2<0>", "Using network Socket", host="node2"
)

CONTRADICTIONS = [
    (
        SOCKETS,
        "gpus=8,nvlink=4,nics=2,link=ib-ndr",
        log_words.used_sockets("node2", "ib-ndr", 5, log_words.say_since("NET/IB : No device found.", 3)),
    ),
    (
        lines("Channel 00/0 : 0[0] -> 8[0] [send] via NET/Socket/0"),
        "gpus=8,nvlink=4,nics=2,link=roce-400",
        log_words.used_sockets("node1", "roce-400", 1, ""),
    ),
    (  # a log that was filtered, or cut, before it names the network
        lines("NET/IB : No device found."),
        "gpus=8,nvlink=4,nics=2,link=ib-ndr",
        'node1 found no card for ib-ndr (line 1: "NET/IB : No device found.") and names no other network, so it can '
        "only have used sockets (TCP)",
    ),
    (
        lines(BOTH, host="node2") + lines("NET/Socket : Using [0]eth0:192.0.2.2<0>"),
        "gpus=8,nvlink=4,nics=2,link=ib-ndr",
        "node1 lists eth0 for sockets (line 2) and no card for ib-ndr",
    ),
    (
        repeat_per_pid(lines("NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:192.0.2.1<0>", "Using network IB")),
        "gpus=8,nvlink=4,nics=2,link=ib-ndr",
        "node1 has 1 NIC for it (line 1: mlx5_0:1), expected 2",
    ),
    (
        lines(BOTH.replace("/IB ", "/RoCE "), "Using network IB"),
        "gpus=8,nvlink=4,nics=2,link=ib-ndr",
        "the NICs of node1 are RoCE (line 1), not ib-ndr",
    ),
    (
        lines("NET/OFI Selected Provider is tcp;ofi_rxm", "Using network AWS Libfabric"),
        "gpus=8,nvlink=4,nics=32,link=efa-100",
        'Libfabric gave node1 TCP instead of efa-100 (line 1: "NET/OFI Selected Provider is tcp;ofi_rxm"): a silent '
        "fallback",
    ),
    (
        lines(BOTH, SENT, SENT.replace("/IB/0", "/IB/1"), SENT.replace("/IB/0", "/IB/2")),
        "gpus=8,nvlink=4,nics=2,link=ib-ndr",
        "node1 used 3 NICs (0, 1, 2), expected at most 2",
    ),
    *(  # a log that names no network, but what it was set to
        (
            lines(f"{setting}"),
            "gpus=8,nvlink=4,nics=2,link=ib-ndr",
            f'node1 was set to use no card for ib-ndr (line 1: "{setting}") and names no other network, so it can only '
            "have used sockets (TCP)",
        )
        for setting in ("NCCL_IB_DISABLE set by environment to 1.", "NCCL_NET set by environment to Socket")
    ),
    (
        lines("NCCL_MNNVL_ENABLE set by environment to 0."),
        "gpus=4,nvlink=5,domain=72,nics=4,link=ib-ndr",
        log_words.no_domain("NCCL_MNNVL_ENABLE set by environment to 0.", 1, 72),
    ),
]


def speed(name: str, mbit_s: int, number: int = 0) -> str:
    """Return the line in which NCCL 2.21 and later tells the rate of a NIC, or of joined ones."""
    return f"NET/IB : Made virtual device [{number}] name={name} speed={mbit_s} ndevs={name.count('+') + 1}"


#: The same of one port, as a log with NCCL_DEBUG_SUBSYS=NET has it.
PORT = "NET/IB: [0] mlx5_{}:uverbs{}:1/IB provider=Mlx5 speed={} context=0x7f pciPath=/sys/devices/pci0000:4a ar=1"
FAST = [speed("mlx5_0", 400000), speed("mlx5_1", 400000, 1)]
SLOW = "came up at 100 Gbit/s (line 2), and 1 NIC of that host at the rate of ib-ndr, expected 2"
CONTRADICTIONS += [
    (lines(speed("mlx5_0", 400000), speed("mlx5_1", 100000, 1)), TWO.words, f"mlx5_1 of node1 {SLOW}"),
    (lines(PORT.format(0, 0, 400000), PORT.format(1, 1, 100000)), TWO.words, f"mlx5_1:1 of node1 {SLOW}"),
    (  # joined ports have the sum of their rates
        lines(*FAST, host="node2") + lines(speed("mlx5_0+mlx5_1", 500000)),
        TWO.words,
        "mlx5_0 of node1 came up at 250 Gbit/s (line 3), and 0 NICs of that host at the rate of ib-ndr, expected 2",
    ),
]


@pytest.mark.parametrize(
    "said",
    [
        FAST,
        [*FAST, speed("mlx5_2", 25000, 2)],  # a third card, for storage
        [PORT.format(0, 0, 400000), *FAST, PORT.format(1, 1, 400000)],
        [speed("mlx5_0", 100000), *FAST],  # one of the card's ports is for storage
        [speed("mlx5_0", 100000)],  # a process that is given one card of the node's two: which is not known
        [speed("mlx5_0+mlx5_1", 800000)],
    ],
)
def test_nics_at_the_rate_of_their_link_are_not_blamed(said: list[str]) -> None:
    assert read(lines(*said, "Using network IB")).rule.state == "not-judged"


def test_a_link_that_trained_down_is_seen_for_each_generation() -> None:
    """NCCL's rates of a port are those of src/transport/net_ib.cc: lanes of 2.5, 5, 10, 14, 25, 50 and 100 Gbit/s."""
    for link, rate in (
        ("ib-qdr", 40000),
        ("ib-fdr", 56000),
        ("ib-edr", 100000),
        ("ib-hdr", 200000),
        ("roce-100", 100000),
    ):
        target = of_words(f"gpus=8,nvlink=3,nics=1,link={link}")
        assert read(lines(speed("mlx5_0", rate)), target).rule.state == "not-judged", link
        assert read(lines(speed("mlx5_0", rate // 2)), target).rule.state == "fail", link


@pytest.mark.parametrize(("text", "words", "sentence"), CONTRADICTIONS)
def test_a_log_that_contradicts_the_nodes_fails(text: str, words: str, sentence: str) -> None:
    found = read(text, of_words(words))
    assert found.rule.state == "fail" and found.rule.look_at
    assert found.rule.sentence == log_words.in_log(sentence)


def test_no_card_is_no_fallback_beside_a_plugin_or_where_cards_are_listed() -> None:
    off = "NCCL_IB_DISABLE set by environment to 1."
    for other in ("Loaded net plugin SPECTRUM-X (v8)", "NET/OFI Initializing aws-ofi-nccl 1.9.1", BOTH):
        assert read(lines(off, other)).rule.state == "not-judged", other
    assert read(lines("NCCL_IB_DISABLE set by environment to 0.")).rule.state == "not-judged"


def test_what_a_reader_should_know_of_a_set_up_is_told() -> None:
    found = read(lines("NCCL_P2P_DISABLE set by environment to 1.", BOTH))
    assert (
        log_words.in_log('the GPUs of a node do not use NVLink (line 1: "NCCL_P2P_DISABLE set by environment to 1.")')
    ) in found.remarks
    one = lines("NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:192.0.2.1<0>").replace(":100:", ":101:")
    found = read(lines(BOTH) + one)
    said = "according to NCCL's log, processes of node1 list different NICs: 1 NIC (line 2) and 2 NICs (line 1)"
    assert said in found.remarks
    assert not any("different NICs" in said for said in read(repeat_per_pid(lines(BOTH))).remarks)


def test_one_process_of_a_node_does_not_speak_for_all() -> None:
    """A container for each GPU gets one card: a process does not list all cards of the node."""
    text = lines("NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:192.0.2.1<0>", "Using network IB")
    assert read(text).rule.state == "not-judged"
    assert "node1 lists 1 NIC (line 1), expected 2; but not all of its processes are in" in read(text).remarks[0]
    whole = text + output("all_reduce", curve(90))
    (found,) = judge_collectives(nccl.parse(whole), TWO, text=whole)
    assert found.rules[3].state == "not-judged"
    every = repeat_per_pid(text) + output("all_reduce", curve(90))
    (found,) = judge_collectives(nccl.parse(every), TWO, text=every)
    assert found.rules[3].state == "fail"


def test_a_rate_that_the_listed_nics_cannot_carry_is_no_pass() -> None:
    one = lines("NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:192.0.2.1<0>", "Using network IB")
    eight = of_words("gpus=8,nvlink=4,nics=8,link=ib-ndr")
    text = one + output("all_reduce", curve(370))
    (found,) = judge_collectives(nccl.parse(text), eight, text=text)
    assert found.state == "not-judged"
    assert "is more than what NCCL's log lists for node1 can carry, 1 NIC of 8 (line 1)" in found.sentence
    all_of_them = "".join(f"[{number}]mlx5_{number}:1/IB " for number in range(8))
    text = one.replace("[0]mlx5_0:1/IB ", all_of_them) + output("all_reduce", curve(370))
    (found,) = judge_collectives(nccl.parse(text), eight, text=text)
    assert found.state == "pass"
    within = one + output("all_reduce", curve(370), ["node1"])
    (found,) = judge_collectives(nccl.parse(within), eight, text=within)
    assert found.state == "pass"


def test_sockets_are_no_fallback_where_the_link_is_ethernet_or_one_node_ran() -> None:
    assert read(SOCKETS, of_words("gpus=8,nvlink=4,nics=1,link=eth-100")).rule.state == "not-judged"
    text = lines("NET/IB : No device found.", "Using network Socket") + output("all_reduce", curve(370), ["node1"])
    (found,) = judge_collectives(nccl.parse(text), TWO, text=text)
    assert found.state == "pass"


@pytest.mark.parametrize("said", ["Using network AWS Libfabric", "NET/OFI Selected provider is verbs", BOTH])
def test_a_host_that_names_a_network_besides_has_not_fallen_back(said: str) -> None:
    assert read(lines("NET/IB : No device found.", said)).rule.state == "not-judged"


def test_a_fallback_fails_a_run_however_good_its_figures_are() -> None:
    text = SOCKETS + output("all_reduce", curve(92))
    (found,) = judge_collectives(nccl.parse(text), TWO, text=text)
    assert [rule.state for rule in found.rules] == ["pass", "pass", "pass", "fail", "pass"]
    assert found.state == "fail" and found.sentence.startswith("rule 4 (path): according to NCCL's log, node2 used")
    assert "ibv_devinfo" in found.sentence


def test_a_log_alone_is_judged() -> None:
    (found,) = judge_collectives(nccl.parse(SOCKETS), TWO, text=SOCKETS)
    assert (found.state, found.lines) == ("fail", ())
    healthy = lines(BOTH, "Using network IB")
    (found,) = judge_collectives(nccl.parse(healthy), TWO, text=healthy)
    assert found.state == "not-judged"


REMARKS = [
    (
        lines(BOTH, "Using network IB", "NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'"),
        "GPUDirect RDMA is off (line 3: \"NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'\"): the bytes go "
        "through the hosts' memory",
    ),
    (
        lines(BOTH, SENT.replace("/GDRDMA", ""), SENT.replace("/IB/0", "/IB/1")),
        "1 of 2 connections over NICs do not use GPUDirect RDMA (line 2): their bytes go through the hosts' memory",
    ),
    (
        lines(BOTH, "Channel 00 : 0[0] -> 1[1] via SHM/direct/direct"),
        "shared memory carries 1 connection within a node, instead of NVLink (line 2: rank 0 to 1)",
    ),
    (
        lines(BOTH, SENT, SENT.replace("00/0", "01/0").replace("/IB/0", "/IB/1"))
        + lines(BOTH, SENT.replace("send", "receive").replace("/IB/0", "/IB/1"), host="node2"),
        "rails are crossed in 1 of 2 connections: channel 0 from rank 0 to 8 leaves by NIC 0 (mlx5_0:1) (line 2) and "
        "arrives at NIC 1 (mlx5_1:1) (line 5); if each rail has its own switches, such bytes take a longer way "
        "(NCCL_CROSS_NIC=0)",
    ),
    (lines(BOTH, SENT), "no connection of node1 uses mlx5_1:1"),
]


@pytest.mark.parametrize(("text", "sentence"), REMARKS)
def test_a_slower_way_is_told_and_decides_nothing(text: str, sentence: str) -> None:
    found = read(text)
    assert found.rule.state == "not-judged"
    assert f"according to NCCL's log, {sentence}" in found.remarks


def test_rails_that_are_not_crossed_are_not_told() -> None:
    text = lines(BOTH, SENT) + lines(BOTH, SENT.replace("send", "receive"), host="node2")
    assert not any("crossed" in said for said in read(text).remarks)


def test_nics_of_a_systems_file_are_looked_for_by_name(gpu_site: Site) -> None:
    from railyard.verdict.gpu.run import of_gpu_system

    target = of_gpu_system(gpu_site, None)
    assert target.rails == tuple(f"mlx5_{n}:1" for n in range(8))
    found = read(repeat_per_pid(lines(BOTH, "Using network IB")), target)
    assert found.rule.state == "fail"
    assert "node1 does not have mlx5_2:1, mlx5_3:1" in found.rule.sentence and "gpusys.yaml" in found.rule.sentence
    every = BOTH.replace("[1]mlx5_1:1/IB", " ".join(f"[{n}]mlx5_{n}:1/IB" for n in range(1, 8)))
    assert read(lines(every, "Using network IB"), target).rule.state == "not-judged"
    second = read(repeat_per_pid(lines(every.replace("mlx5_7:1", "mlx5_7:2"), "Using network IB")), target)
    assert second.rule.state == "fail" and "node1 does not have mlx5_7:1 of systems/gpusys" in second.rule.sentence
    joined = every.replace("[0]mlx5_0:1/IB [1]mlx5_1:1/IB", "[0]mlx5_0+mlx5_1:1/IB")
    assert read(repeat_per_pid(lines(joined, "Using network IB")), target).rule.state == "not-judged"
    other = lines(every, SENT.replace("/IB/0", "/IB/5"))
    far = read(other.replace("[0] NCCL", "[2] NCCL"), target)
    assert any("GPU 2 of node1 uses mlx5_5 (line 2)" in said for said in far.remarks)
    assert not any("GPU 0" in said for said in read(other, target).remarks)


def test_a_rail_that_no_gpu_uses_in_a_ring_fails_if_all_of_them_are_in_the_log() -> None:
    """Seven of eight cards still show 85 % of the bound, far above the floor."""
    using = " ".join(f"[{nic}]mlx5_{nic}:1/IB" for nic in range(8))

    def log(*, last_nic: int, gpus: int) -> str:
        said = ""
        for rank in range(16):
            if rank % 8 < gpus:
                nic = min(rank % 8, last_nic)
                by = f"node{1 + rank // 8}:{4000 + rank}:1 [{rank % 8}] NCCL INFO"
                said += f"{by} NET/IB : Using {using} [RO]; OOB eth0:192.0.2.1<0>\n"
                said += f"{by} Channel 00/0 : {rank}[0] -> {(rank + 8) % 16}[0] [send] via NET/IB/{nic}/GDRDMA\n"
        return said

    def state(log: str, name: str = "all_reduce", rate: float = 340.0) -> tuple[str, str]:
        text = log + output(name, curve(rate))
        (found,) = judge_collectives(nccl.parse(text), of_words("gpus=8,nvlink=4,nics=8,link=ib-ndr"), text=text)
        return found.rules[3].state, found.rules[3].sentence

    idle = state(log(last_nic=6, gpus=8))
    assert idle[0] == "fail"
    assert idle[1].endswith("no connection of node1 uses mlx5_7:1, and those of all its GPUs are in the log")
    assert state(log(last_nic=7, gpus=8))[0] == "not-judged"
    assert state(log(last_nic=6, gpus=7))[0] == "not-judged"  # a process is not in the log
    assert state(log(last_nic=6, gpus=8), "sendrecv", 48.0)[0] == "not-judged"  # it does not need all NICs
