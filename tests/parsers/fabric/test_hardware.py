"""lspci, show_gids and nvidia-smi topo: what they print of slots, GIDs and nearness, and what they do not."""

import json
from pathlib import Path

import pytest

from railyard.cli.commands.parse import to_json
from railyard.parsers.detect import parse as parse_any
from railyard.parsers.fabric import lspci, nvidia_smi, show_gids
from railyard.parsers.fabric.port import GidEntry, Hardware, Nearness, PciSlot
from railyard.parsers.output import ParseError, Remark
from railyard.results.report.hardware_text import far_gpus, hardware_remarks
from railyard.results.report.output_text import parsed_text

SAMPLES = Path(__file__).parent / "samples"
NAMES = ("lspci", "lspci-old", "show_gids", "nvidia_smi-topo")


def sample(name: str) -> str:
    return (SAMPLES / f"{name}.txt").read_text(encoding="utf-8")


def test_lspci_gives_link_capability_and_status() -> None:
    parsed = lspci.parse(sample("lspci"))
    assert parsed.hardware.slots == (
        PciSlot(
            "81:00.0", "Infiniband controller", "Mellanox Technologies MT28908 Family [ConnectX-6]",
            speed=8.0, width=8, best_speed=16.0, best_width=16, max_payload=256, max_read_request=512, numa=1, line=11,
        ),
        PciSlot(
            "0000:a1:00.1", "Ethernet controller", "Broadcom Inc. BCM57508 NetXtreme-E [14e4:1750] (rev 11)",
            speed=16.0, width=16, best_speed=16.0, best_width=16, max_payload=128, max_read_request=4096, line=22,
        ),
    )  # fmt: skip
    assert [slot.is_degraded for slot in parsed.hardware.slots] == [True, False]
    assert parsed.remarks == (Remark(25, "c1:00.0: capabilities are not readable: run lspci as root"),)


def test_a_release_without_words_for_a_degraded_link_is_read_too() -> None:
    (slot,) = lspci.parse(sample("lspci-old")).hardware.slots
    assert (slot.speed, slot.width, slot.is_degraded, slot.max_payload) == (8.0, 16, False, None)


@pytest.mark.parametrize(
    ("now", "is_degraded"),
    [
        ("Speed 16GT/s (ok), Width x16 (ok)", False),
        ("Speed 8GT/s (downgraded), Width x16", True),
        ("Speed 16GT/s, Width x4 (downgraded)", True),
        ("Speed 2.5GT/s, Width x16", True),
        ("Speed unknown, Width x8 (downgraded)", True),
        ("Speed unknown, Width x0", None),
    ],
)
def test_a_link_is_compared_and_its_words_are_not_believed(now: str, is_degraded: bool | None) -> None:
    text = (
        "81:00.0 Infiniband controller: Mellanox Technologies MT28908\n\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, "
        f"ASPM L1\n\t\tLnkSta:\t{now}\n"
    )
    (slot,) = lspci.parse(text).hardware.slots
    assert slot.is_degraded is is_degraded


def test_show_gids_gives_each_entry() -> None:
    parsed = show_gids.parse(sample("show_gids"))
    link_local = "fe80:0000:0000:0000:0ac0:ebff:fe11:2233"
    assert parsed.hardware.gids == (
        GidEntry("mlx5_0", 1, 0, link_local, None, "v1", "ens1f0np0", 3),
        GidEntry("mlx5_0", 1, 1, link_local, None, "v2", "ens1f0np0", 4),
        GidEntry("mlx5_0", 1, 3, "0000:0000:0000:0000:0000:ffff:0a01:0007", "10.1.0.7", "v2", "ens1f0np0", 5),
        GidEntry("mlx5_1", 1, 0, "fe80:0000:0000:0000:0ac0:eb03:0011:2234", None, None, None, 6),
    )
    assert (parsed.remarks, parsed.failures) == ((), ())


def test_nvidia_smi_gives_the_matrix_with_the_names_of_its_legend() -> None:
    parsed = nvidia_smi.parse(sample("nvidia_smi-topo"))
    assert parsed.hardware.nearness == (
        Nearness("GPU0", {"GPU1": "NV12", "NIC0": "PXB", "NIC1": "SYS"}, None, "0-31,64-95", "0", 2),
        Nearness("GPU1", {"GPU0": "NV12", "NIC0": "SYS", "NIC1": "NODE"}, None, "32-63,96-127", "1", 3),
        Nearness("NIC0", {"GPU0": "PXB", "GPU1": "SYS", "NIC1": "SYS"}, "mlx5_0", line=4),
        Nearness("NIC1", {"GPU0": "SYS", "GPU1": "NODE", "NIC0": "SYS"}, "mlx5_1", line=5),
    )
    assert (parsed.remarks, parsed.failures) == ((), ())


def test_a_driver_that_names_devices_in_the_heading_is_read_too() -> None:
    text = "\tGPU0\tGPU1\tmlx5_0\tCPU Affinity\nGPU0\t X \tPIX\tPHB\t0-11\nGPU1\tPIX\t X \tSOC\t0-11\n"
    text += "mlx5_0\tPHB\tSOC\t X \n"
    rows = nvidia_smi.parse(text).hardware.nearness
    assert [(row.name, row.device, dict(row.to)) for row in rows][2] == (
        *("mlx5_0", "mlx5_0", {"GPU0": "PHB", "GPU1": "SOC"}),
    )


@pytest.mark.parametrize(
    "row",
    [
        "GPU1    NV12     X      SYSNODE 32-63   1",  # two cells are glued together
        "GPU1    NV12     X      SYS     NODE    SYS     32-63   1",  # the heading lacks a column
        "GPU1     X      NV12    SYS     NODE    32-63   1",  # X is below another name
        "GPU1    NV12     X      SYS",
    ],
)
def test_a_row_that_does_not_fit_its_heading_is_a_failure_and_not_read(row: str) -> None:
    head = "        GPU0    GPU1    NIC0    NIC1    CPU Affinity    NUMA Affinity\n"
    parsed = nvidia_smi.parse(f"{head}GPU0     X      NV12    PXB     SYS     0-31    0\n{row}\n")
    assert [each.name for each in parsed.hardware.nearness] == ["GPU0"]
    (failure,) = parsed.failures
    shown = f"GPU1: not one word for each of the 4 columns, so this row is not read: {row}"
    assert (failure.line, failure.text) == (3, shown)


def test_gpus_far_from_every_nic_are_a_remark() -> None:
    assert far_gpus(nvidia_smi.parse(sample("nvidia_smi-topo")).hardware.nearness) == (
        "GPU1: no NIC is nearer than NODE or SYS, so its bytes cross host bridges or sockets",
    )
    assert far_gpus((Nearness("GPU0", {"GPU1": "NV12"}), Nearness("GPU1", {"GPU0": "NV12"}))) == ()


def test_a_network_card_below_its_best_is_a_remark() -> None:
    assert hardware_remarks(lspci.parse(sample("lspci")).hardware) == (
        "81:00.0: its slot runs at 8 GT/s x8 (LnkSta), and the card could do 16 GT/s x16 (LnkCap)",
    )


@pytest.mark.parametrize("name", NAMES)
def test_railyard_parse_recognises_the_tool(name: str) -> None:
    parsed = parse_any(sample(name))
    assert parsed.hardware and not parsed.tables
    form = json.loads(json.dumps(to_json(parsed), allow_nan=False))
    assert list(form["hardware"]) == [
        {"lspci": "slots", "show": "gids", "nvidia": "nearness"}[name.split("_")[0][:6].split("-")[0]]
    ]


def test_the_text_shows_all_of_it() -> None:
    text = parsed_text(lspci.parse(sample("lspci")), width=200)
    assert "2 PCI devices with a link\naddress       LnkSta             LnkCap       MaxPayload  NUMA  device\n" in text
    assert "\n81:00.0       8 GT/s x8 (below)  16 GT/s x16  256         1     Mellanox Technologies MT28908" in text
    text = parsed_text(nvidia_smi.parse(sample("nvidia_smi-topo")))
    assert "4 rows of GPUs and NICs\n             GPU0  GPU1  NIC0  NIC1  CPUs          NUMA\n" in text
    assert "\nNIC0 mlx5_0  PXB   SYS   X     SYS   –             –\n" in text
    assert "no table" not in text
    assert "\nmlx5_0  1     3      0000:0000:" in parsed_text(show_gids.parse(sample("show_gids")))


def gids(*rows: str) -> Hardware:
    head = "DEV\tPORT\tINDEX\tGID\tIPv4\tVER\tDEV\n"
    return show_gids.parse(head + "".join(f"{row}\n" for row in rows)).hardware


def test_gids_that_were_counted_and_are_not_there_are_a_failure() -> None:
    lines = sample("show_gids").splitlines(keepends=True)
    (failure,) = show_gids.parse("".join(lines[:3] + lines[4:])).failures
    assert failure.text == "n_gids_found=4, and 3 rows were read: lines are missing"
    (remark,) = show_gids.parse("".join(lines[:2])).remarks
    assert remark.text == "no GID is printed below the heading"
    assert show_gids.parse("".join((*lines[:2], "n_gids_found=0\n"))).remarks == ()


LOCAL, IPV4 = "fe80:0000:0000:0000:0ac0:ebff:fe11:2233", "0000:0000:0000:0000:0000:ffff:0a01:0007"


@pytest.mark.parametrize(
    ("rows", "remarks"),
    [
        ((f"mlx5_0\t1\t0\t{LOCAL}\t\t\tv1\teth0", f"mlx5_0\t1\t3\t{IPV4}\t10.1.0.7\tv2\teth0"), ()),
        (
            (f"mlx5_0\t1\t0\t{LOCAL}\t\t\tv1\teth0", f"mlx5_0\t1\t2\t{IPV4}\t10.1.0.7\tv1\teth0"),
            ("mlx5_0 port 1: only GIDs of RoCE v1; give eth0 an IP address for RoCE v2",),
        ),
        (
            (f"mlx5_2\t2\t0\t{LOCAL}\t\t\tv1\t", f"mlx5_2\t2\t1\t{LOCAL}\t\t\tv2\t"),
            (
                "mlx5_2 port 2: only GIDs of RoCE v2 by link-local addresses; give its interface an IP address for "
                "RoCE v2",
            ),
        ),
        ((f"mlx5_0\t1\t0\t{LOCAL}\t\t\tv1\t",), ()),  # InfiniBand: the kernel calls its GIDs "IB/RoCE v1"
    ],
)
def test_a_port_of_roce_without_a_gid_that_jobs_can_use_is_named(
    rows: tuple[str, ...], remarks: tuple[str, ...]
) -> None:
    assert hardware_remarks(gids(*rows)) == remarks


def hardware_values(hardware: Hardware) -> set[str]:
    """Return each value of each part, without its line."""
    rows = [row for rows in hardware.as_json().values() for row in rows]
    return {
        f"{row.get('address', row.get('gid', row.get('name')))} {key} {value}"
        for row in rows
        for key, value in row.items()
    }


@pytest.mark.parametrize("name", NAMES)
def test_a_text_cut_at_any_byte_gives_no_value_that_the_whole_lacks(name: str) -> None:
    parse = {"lspci": lspci.parse, "show_gids": show_gids.parse}.get(name.partition("-")[0], nvidia_smi.parse)
    text = sample(name)
    whole = {each for each in hardware_values(parse(text).hardware)}
    for cut in range(1, len(text)):
        try:
            part = parse(text[:cut]).hardware
        except ParseError:
            continue
        more = {each for each in hardware_values(part) - whole if " line " not in each and " degraded " not in each}
        assert not more, f"cut at {cut}"


@pytest.mark.parametrize(
    ("parse", "expected"),
    [
        (lspci.parse, "output of lspci: a device as"),
        (show_gids.parse, 'output of show_gids: the heading "DEV PORT INDEX GID IPv4 VER DEV"'),
        (nvidia_smi.parse, "output of nvidia-smi: a heading of GPUs and NICs"),
    ],
)
def test_another_text_is_refused(parse: object, expected: str) -> None:
    assert callable(parse)
    for text in ("", "hello\n", "LnkSta: nothing\nDEV PORT INDEX GID IPv4\nCPU Affinity\n"):
        with pytest.raises(ParseError) as error:
            parse(text)
        assert error.value.expected.startswith(expected)


PERFTEST = """\
---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF          Device         : mlx5_0
 Number of qps   : 1            Transport type : IB
 Connection type : RC           Using SRQ      : OFF
 Mtu             : 4096[B]
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
 65536      5000             5927.40            5926.93            0.094831
---------------------------------------------------------------------------------------
"""


def test_lines_of_lspci_are_no_failures_of_a_benchmark_beside_it() -> None:
    for text in (sample("lspci") + PERFTEST, PERFTEST + sample("lspci"), sample("lspci") + "\n" + PERFTEST):
        parsed = parse_any(text)
        assert (len(parsed.tables), len(parsed.hardware.slots), parsed.failures) == (1, 2, ())


def test_a_failure_of_a_benchmark_beside_lspci_stays_one() -> None:
    failed = " Completion with error at client:\n Failed status 12: wr_id 0 syndrom 0x81\n"
    for text in (f"{sample('lspci')}\n{PERFTEST}{failed}", f"{PERFTEST}{failed}{sample('lspci')}"):
        assert [each.text for each in parse_any(text).failures] == [
            "Completion with error at client:", "Failed status 12: wr_id 0 syndrom 0x81"
        ]  # fmt: skip
