"""Sources of facts: a folder and a recording give the same answers, and everything that was read is recorded."""

from pathlib import Path

import pytest

from railyard.base.errors import InputError
from railyard.cluster.detect.source import Folder, Listing, Recorder, Source, natural, parse_listing

TEXT = """\
railyard-tree 1
# made
/proc/sys/kernel/hostname = n1
/sys/class/net/eth0/device/uevent <<
| DRIVER=igb
| PCI_SLOT_NAME=0000:01:00.0
/sys/class/net/eth0/ifalias =
/sys/class/net/lo/
which sinfo = /usr/bin/sinfo
$ sinfo --noheader <<
| a*|2|up
|
| b|3|up
"""


def folder(root: Path) -> Folder:
    for path, text in {
        "proc/sys/kernel/hostname": "n1\n",
        "sys/class/net/eth0/device/uevent": "DRIVER=igb\nPCI_SLOT_NAME=0000:01:00.0\n",
        "sys/class/net/eth0/ifalias": "",
        "commands/sinfo.path": "/usr/bin/sinfo\n",
        "commands/sinfo --noheader": "a*|2|up\n\nb|3|up\n",
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    (root / "sys/class/net/lo").mkdir()
    return Folder(root)


@pytest.fixture(params=["folder", "recording"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Source:
    return folder(tmp_path) if request.param == "folder" else parse_listing(TEXT, "n1.tree")


def test_a_folder_and_a_recording_answer_alike(source: Source) -> None:
    assert source.read("/proc/sys/kernel/hostname") == "n1"
    assert source.read("/sys/class/net/eth0/device/uevent") == "DRIVER=igb\nPCI_SLOT_NAME=0000:01:00.0"
    assert source.read("/sys/class/net/eth0/ifalias") == ""
    assert source.names("/sys/class/net") == ("eth0", "lo")
    assert source.which("sinfo") == "/usr/bin/sinfo"
    assert source.run("sinfo", "--noheader") == "a*|2|up\n\nb|3|up"


def test_what_is_not_there_is_none(source: Source) -> None:
    assert source.read("/sys/class/net/eth1/mtu") is None
    assert source.names("/sys/class/infiniband") == ()
    assert source.which("qstat") is None
    assert source.run("sinfo", "--version") is None


def test_what_was_asked_and_answered_is_recorded_and_nothing_else(source: Source) -> None:
    recorder = Recorder(source)
    recorder.read("/sys/class/net/eth0/device/uevent")
    recorder.read("/sys/class/net/eth1/mtu")
    recorder.names("/sys/class/net")
    recorder.which("sinfo")
    recorder.run("sinfo", "--noheader")
    assert recorder.listing.text("a remark") == (
        "railyard-tree 1\n"
        "# a remark\n"
        "/sys/class/net/eth0/device/uevent <<\n"
        "| DRIVER=igb\n"
        "| PCI_SLOT_NAME=0000:01:00.0\n"
        "/sys/class/net/lo/\n"
        "which sinfo = /usr/bin/sinfo\n"
        "$ sinfo --noheader <<\n"
        "| a*|2|up\n"
        "|\n"
        "| b|3|up\n"
    )


def test_a_recording_reads_back_as_it_was_written() -> None:
    listing = parse_listing(TEXT, "n1.tree")
    assert parse_listing(listing.text(), "again") == listing


def test_names_stand_in_natural_order() -> None:
    listing = Listing(there={f"/sys/class/infiniband/mlx5_{number}" for number in (10, 2, 0)})
    assert listing.names("/sys/class/infiniband/") == ("mlx5_0", "mlx5_2", "mlx5_10")
    assert natural("2021.10") > natural("2021.9")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "sys/class/net\n",
            'x.tree:1: found "sys/class/net", expected "railyard-tree 1", the first line of a recording; railyard '
            "detect --record FILE writes one; or name a folder that holds sys/ and proc/",
        ),
        (
            "railyard-tree 1\n/sys/class/net/eth0/mtu 1500\n",
            'x.tree:2: found "/sys/class/net/eth0/mtu 1500", expected PATH = TEXT, PATH <<, PATH/, which NAME = PATH, '
            '$ COMMAND <<, or after a "<<" a line of text behind "|"',
        ),
        (
            "railyard-tree 1\n/a = b\n| c\n",
            'x.tree:3: found "| c", expected PATH = TEXT, PATH <<, PATH/, which NAME = PATH, $ COMMAND <<, or after a '
            '"<<" a line of text behind "|"',
        ),
    ],
)
def test_another_text_is_refused_with_its_line(text: str, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_listing(text, "x.tree")
    assert str(caught.value) == sentence


def test_a_recording_leaves_out_what_nobody_reads() -> None:
    listing = Listing(
        files={"/proc/cpuinfo": "processor : 0\nmodel name : A\n\nprocessor : 1\nmodel name : A"},
        outputs={
            "scontrol show config": "AuthInfo = x\nClusterName = c1",
            "lstopo": '<object type="OSDev">\n  <info name="Address" value="02:00:00:00:00:01"/>\n</object>',
        },
    )
    recorder = Recorder(listing)
    listing.there = {"/sys/class/infiniband/rxe0/ports/1/gid_attrs/types/7"}
    assert recorder.names("/sys/class/infiniband/rxe0/ports/1/gid_attrs/types") == ("7",)
    assert recorder.listing.there == set()
    assert recorder.read("/proc/cpuinfo") == listing.files["/proc/cpuinfo"]
    assert recorder.run("lstopo") == listing.outputs["lstopo"]
    assert recorder.listing.files == {"/proc/cpuinfo": "processor : 0\nmodel name : A"}
    assert recorder.run("scontrol", "show", "config") == "AuthInfo = x\nClusterName = c1"
    assert recorder.listing.outputs == {
        "scontrol show config": "ClusterName = c1",
        "lstopo": '<object type="OSDev">\n</object>',
    }
