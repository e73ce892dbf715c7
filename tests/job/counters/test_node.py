"""The counter reader at work, and how its files are read."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from railyard.hardware.counters import DRIVERS, Driver
from railyard.job.counters import Direction, NodeCounters, Refusal, by_node, parse, reader_script
from tests.patience import PATIENCE_S

HEAD = "railyard-counters 1 run1\nnode vn1\nfirst-by MPI_LOCALRANKID\nmeant hsn0\nwatched eth0\n"
BEFORE = "before at 10.00\nbefore hsn0 carrier 1\nbefore hsn0 tx_bytes 100\nbefore hsn0 rx_bytes 200\n"
BEFORE += "before hsn0 rx_errors 3\nbefore eth0 carrier 1\nbefore eth0 tx_bytes 5\nbefore eth0 rx_bytes 6\n"
AFTER = "after at 12.50\nafter hsn0 carrier 1\nafter hsn0 tx_bytes 1100\nafter hsn0 rx_bytes 2200\n"
AFTER += "after hsn0 rx_errors 7\nafter eth0 carrier 1\nafter eth0 tx_bytes 6\nafter eth0 rx_bytes 8\n"
WHOLE = HEAD + BEFORE + AFTER + "end 0\n"
#: The reader's exit code if an intended rail is missing or down (EX_OSERR of sysexits.h).
REFUSED_EXIT_CODE = 71


def test_a_whole_file_gives_deltas_for_each_device() -> None:
    reading = parse(WHOLE, "run1")
    assert (reading.node, reading.exit_code, reading.problem) == ("vn1", 0, None)
    assert (reading.first_by, reading.elapsed_s, reading.refusal) == ("MPI_LOCALRANKID", 2.5, None)
    hsn0, eth0 = reading.devices
    assert (hsn0.device, hsn0.meant, hsn0.tx.delta_bytes, hsn0.rx.delta_bytes) == ("hsn0", True, 1000, 2000)
    assert (hsn0.carrier_before, hsn0.carrier_after, hsn0.errors) == (True, True, {"rx_errors": 4})
    assert (eth0.device, eth0.meant, eth0.tx.delta_bytes, eth0.rx.delta_bytes) == ("eth0", False, 1, 2)
    assert reading.device("hsn0") is hsn0
    assert reading.device("hsn9") is None
    assert hsn0.trouble is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the file is empty, or not from the counter reader"),
        ("hello world\n", "the file is empty, or not from the counter reader"),
        (
            WHOLE.replace("counters 1", "counters 2"),
            "the file has format 2, expected 1: reader and library are of different versions",
        ),
        (WHOLE.replace("run1", "run0"), "the file is from another run (run0, expected run1)"),
        (HEAD + BEFORE, "the file has no end: the run was killed before the counters were read again"),
        (WHOLE[:-1], "the file has no end: the run was killed before the counters were read again"),
        (WHOLE.replace("after at", "r at"), 'the file is garbled at "r at 12.50": two processes wrote it'),
        (WHOLE.replace("at 12.50", "at ¹²"), 'the file is garbled at "after at ¹²": two processes wrote it'),
        (
            WHOLE.replace("end 0", "end ²"),
            "the file has no end: the run was killed before the counters were read again",
        ),
        (
            WHOLE.replace("end 0", "end x"),
            "the file has no end: the run was killed before the counters were read again",
        ),
        (WHOLE + "end 0\n", 'the file is garbled at "end 0": two processes wrote it'),
        (
            WHOLE.replace("after eth0 tx", "after hsn0 tx"),
            'the file is garbled at "after hsn0 tx_bytes 6": two processes wrote it',
        ),
    ],
)
def test_what_cannot_be_relied_on_says_why(text: str, problem: str) -> None:
    assert parse(text, "run1").problem == problem


def test_a_file_cut_at_any_byte_is_never_whole() -> None:
    assert all(parse(WHOLE[:cut], "run1").problem for cut in range(len(WHOLE)))


@pytest.mark.parametrize(
    ("old", "new", "trouble"),
    [
        ("after hsn0 tx_bytes 1100", "after hsn0 tx_bytes unreadable", "has no readable counter of bytes sent"),
        ("before hsn0 rx_bytes 200\n", "", "has no readable counter of bytes received"),
        (
            "after hsn0 tx_bytes 1100",
            "after hsn0 tx_bytes 99",
            "counted fewer bytes sent after the run (99) than before (100): it was reset or replaced",
        ),
    ],
)
def test_a_counter_without_a_delta_says_why(old: str, new: str, trouble: str) -> None:
    device = parse(WHOLE.replace(old, new), "run1").device("hsn0")
    assert device is not None
    assert device.trouble == trouble


@pytest.mark.parametrize(("value", "carrier"), [("1", True), ("0", False), ("unreadable", None)])
def test_the_carrier_is_known_up_known_down_or_unknown(value: str, carrier: bool | None) -> None:
    device = parse(WHOLE.replace("after hsn0 carrier 1", f"after hsn0 carrier {value}"), "run1").device("hsn0")
    assert device is not None
    assert device.carrier_after is carrier


def test_a_driver_row_gives_unit_width_and_names(monkeypatch: pytest.MonkeyPatch) -> None:
    clamped = Driver("old", "port_xmit_data", "port_rcv_data", 4, 32, True, "RDMA", ("symbol_error",), "a test")
    monkeypatch.setattr("railyard.job.counters.DRIVERS", {**DRIVERS, "old": clamped})
    text = (
        "railyard-counters 1 t\nnode n\nmeant ib0:1\nbefore ib0:1 state 4: ACTIVE\nbefore ib0:1 port_xmit_data 10\n"
        "before ib0:1 port_rcv_data 7\nafter ib0:1 state 1: DOWN\nafter ib0:1 port_xmit_data 30\n"
        "after ib0:1 port_rcv_data 4294967295\nend 0\n"
    )
    device = parse(text, "t", {"ib0:1": "old"}).devices[0]
    assert device.tx.delta_bytes == 80
    assert device.rx == Direction(28, 4 * 4294967295, full=True)
    assert device.rx.delta_bytes is None
    assert device.trouble == "has a full counter of bytes received: it is at its maximum and no longer counts"
    assert (device.carrier_before, device.carrier_after) == (True, False)


def test_a_host_name_with_a_domain_answers_to_its_first_label() -> None:
    readings = [NodeCounters("vn2.cluster", (), 0), NodeCounters("vn1", (), 0)]
    found = by_node(readings, ["vn1", "vn2", "vn3"])
    assert {name: reading.node for name, reading in found.items()} == {"vn1": "vn1", "vn2": "vn2.cluster"}


# What the reader says besides values


def test_lines_about_devices_are_no_garbage() -> None:
    about = "other eth9\nbeside hsn0 ib0\nabout hsn0 driver mlx5_core\nabout hsn0 layer InfiniBand\nwaited 10\n"
    reading = parse(WHOLE.replace("watched eth0\n", f"watched eth0\n{about}"), "run1")
    assert reading.problem is None
    # eth9 and ib0 have no counters of any driver: there is nothing to say about them.
    assert [device.device for device in reading.devices] == ["hsn0", "eth0"]


@pytest.mark.parametrize(
    "line", ["beside hsn0 ib0\nbeside hsn0 ib1", "about hsn0 mtu 1\nabout hsn0 mtu 2", "waited x", "waited", "other"]
)
def test_a_line_that_stands_twice_or_lacks_a_word_is_garbage(line: str) -> None:
    problem = parse(WHOLE.replace("watched eth0\n", f"watched eth0\n{line}\n"), "run1").problem
    assert problem == f'the file is garbled at "{line.splitlines()[-1]}": two processes wrote it'


def idle(seconds: float, sent: int, sent_then: int | None = None) -> str:
    """Return the file of a run of 2.5 s, with readings before and after it: hsn0 sent so many bytes each time."""
    first = f"idle at {10 - seconds:.2f}\nidle hsn0 tx_bytes {100 - sent}\nidle hsn0 rx_bytes 200\n"
    then = "" if sent_then is None else f"rest at {12.5 + seconds:.2f}\nrest hsn0 tx_bytes {1100 + sent_then}\n"
    return HEAD + first + BEFORE + AFTER + then + "end 0\n"


@pytest.mark.parametrize(
    ("seconds", "sent", "sent_then", "left"),
    [
        (0.5, 40, None, 800),  # 80 B/s for 2.5 s are not the run's
        (0.5, 0, None, 1000),
        (0.1, 40, None, 1000),  # too short to be a rate
        (0.5, 100, None, 500),
        (0.5, -5, None, 1000),  # the counter went backwards: no rate
        (0.5, 40, 40, 800),
        (0.5, 100, 0, 1000),  # a burst before the run is not the run's background
        (0.5, 0, 100, 1000),
        (0.5, 100, 40, 800),  # what went on until after the run is
        (0.5, -5, 40, 800),
        (0.5, 40, -5, 800),
    ],
)
def test_what_an_idle_rail_moves_is_subtracted(seconds: float, sent: int, sent_then: int | None, left: int) -> None:
    device = parse(idle(seconds, sent, sent_then), "run1").device("hsn0")
    assert device is not None
    assert (device.tx.delta_bytes, device.rx.delta_bytes) == (left, 2000)


@pytest.mark.parametrize(
    "line",
    [
        "idle at " + "9" * 5000,
        "idle at nan",
        "waited " + "9" * 5000,
        "about ib0 mtu ²",
        "before hsn0 hw/lifespan " + "9" * 5000,
    ],
)
def test_no_number_breaks_the_reading(line: str) -> None:
    text = WHOLE.replace("watched eth0\n", f"watched eth0\nbeside hsn0 ib0\n{line}\n")
    reading = parse(text, "run1", {"hsn0": "rxe"})
    assert [device.device for device in reading.devices] == ["hsn0", "eth0"]


# The reader itself, on a made-up sysfs.


@pytest.fixture
def sysfs(tmp_path: Path) -> Path:
    for device, sent in (("hsn0", 100), ("eth0", 7)):
        statistics = tmp_path / "sys/class/net" / device / "statistics"
        statistics.mkdir(parents=True)
        (statistics / "tx_bytes").write_text(f"{sent}\n")
        (statistics / "rx_bytes").write_text("9\n")
        (statistics.parent / "carrier").write_text("1\n")
    proc = tmp_path / "proc/sys/kernel"
    proc.mkdir(parents=True)
    (proc / "hostname").write_text("vn1\n")
    (tmp_path / "proc/uptime").write_text("10.00 20.00\n")
    (tmp_path / "reader.sh").write_text(reader_script())
    (tmp_path / "out").mkdir()
    return tmp_path


def environment(sysfs: Path, **variables: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "RAILYARD_SYSFS": str(sysfs / "sys"),
        "RAILYARD_PROC": str(sysfs / "proc"),
        **variables,
    }


def call(sysfs: Path, *command: str, meant: str = "hsn0", watched: str = "eth0") -> list[str]:
    return ["sh", str(sysfs / "reader.sh"), str(sysfs / "out"), "run1", meant, watched, "--", *command]


def read(
    sysfs: Path, *command: str, meant: str = "hsn0", watched: str = "eth0", stdin: str = "", **variables: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        call(sysfs, *command, meant=meant, watched=watched),
        env=environment(sysfs, **(variables or {"MPI_LOCALRANKID": "0"})),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )


def counters_text(sysfs: Path) -> str:
    return (sysfs / "out/vn1.counters").read_text()


def test_the_reader_keeps_input_output_arguments_and_exit_code(sysfs: Path) -> None:
    ran = read(sysfs, "sh", "-c", 'cat; echo "$1|$2"; echo err >&2; exit 7', "x", "a  b", "*", stdin="in\n")
    assert (ran.returncode, ran.stdout, ran.stderr) == (7, "in\na  b|*\n", "err\n")
    assert counters_text(sysfs).endswith("\nend 7\n")


def test_the_reader_sees_what_the_command_moved(sysfs: Path) -> None:
    counter = sysfs / "sys/class/net/hsn0/statistics/tx_bytes"
    ran = read(sysfs, "sh", "-c", f"echo 5100 > {counter}")
    assert ran.returncode == 0
    reading = parse(counters_text(sysfs), "run1")
    assert reading.problem is None
    assert [(d.device, d.meant, d.tx.delta_bytes, d.rx.delta_bytes) for d in reading.devices] == [
        ("hsn0", True, 5000, 0),
        ("eth0", False, 0, 0),
    ]


def test_only_the_first_process_of_a_node_reads(sysfs: Path) -> None:
    ran = read(sysfs, "echo", "ran", OMPI_COMM_WORLD_LOCAL_RANK="1", SLURM_LOCALID="0")
    assert (ran.returncode, ran.stdout) == (0, "ran\n")
    assert list((sysfs / "out").iterdir()) == []


def test_without_a_local_rank_the_creator_of_the_file_reads_and_says_so(sysfs: Path) -> None:
    first = read(sysfs, "echo", "first", HOME="/")
    text = counters_text(sysfs)
    second = read(sysfs, "echo", "second", HOME="/")
    assert (first.stdout, second.stdout) == ("first\n", "second\n")
    assert counters_text(sysfs) == text
    assert parse(text, "run1").first_by == "file"


REFUSALS = [
    ("hsn1", None, "rail hsn1 of vn1 does not exist: no such network or RDMA device on that node"),
    ("hsn0", "0\n", "rail hsn0 of vn1 has no carrier: the cable is unplugged or the other end is down"),
    ("hsn0", "", "rail hsn0 of vn1 is switched off: its carrier cannot be read (ip link set hsn0 up)"),
]


@pytest.mark.parametrize(("rail", "carrier", "sentence"), REFUSALS)
def test_a_meant_rail_that_is_down_is_refused_before_anything_starts(
    sysfs: Path, rail: str, carrier: str | None, sentence: str
) -> None:
    if carrier is not None:
        (sysfs / f"sys/class/net/{rail}/carrier").write_text(carrier)
    ran = read(sysfs, "echo", "started", meant=f"{rail}")
    assert (ran.returncode, ran.stdout, ran.stderr) == (REFUSED_EXIT_CODE, "", f"railyard: {sentence}\n")
    reading = parse(counters_text(sysfs), "run1")
    assert (reading.refusal, reading.exit_code) == (Refusal(rail, sentence), REFUSED_EXIT_CODE)


def test_a_refusal_tells_hydra_to_abort_the_other_ranks(sysfs: Path) -> None:
    wire, other_end = os.pipe()
    try:
        ran = subprocess.run(
            call(sysfs, "true", meant="hsn9"),
            env=environment(sysfs, MPI_LOCALRANKID="0", PMI_FD=str(other_end)),
            pass_fds=[other_end],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
        assert ran.returncode == REFUSED_EXIT_CODE
        assert os.read(wire, 100) == b"cmd=abort exitcode=71\n"
    finally:
        os.close(wire)
        os.close(other_end)
    assert read(sysfs, "true", meant="hsn9", MPI_LOCALRANKID="0", PMI_FD="77").returncode == REFUSED_EXIT_CODE


def test_a_watched_network_that_is_down_or_missing_does_not_stop_the_run(sysfs: Path) -> None:
    (sysfs / "sys/class/net/eth0/carrier").write_text("0\n")
    assert read(sysfs, "true", watched="eth0,eth9").returncode == 0
    reading = parse(counters_text(sysfs), "run1")
    eth9 = reading.device("eth9")
    assert reading.problem is None
    assert eth9 is not None
    assert eth9.trouble == "has no readable counter of bytes sent"


def test_an_rdma_port_is_read_beside_network_devices(sysfs: Path) -> None:
    port = sysfs / "sys/class/infiniband/mlx5_0/ports/1"
    (port / "counters").mkdir(parents=True)
    (port / "state").write_text("4: ACTIVE\n")
    (port / "counters/port_xmit_data").write_text("12\n")
    assert read(sysfs, "true", meant="mlx5_0:1,hsn0").returncode == 0
    assert "before mlx5_0:1 state 4: ACTIVE\nbefore mlx5_0:1 port_xmit_data 12\n" in counters_text(sysfs)
    (port / "state").write_text("2: INIT\n")
    ran = read(sysfs, "true", meant="mlx5_0:1")
    assert ran.stderr == "railyard: rail mlx5_0:1 of vn1 is not active: the port's state is 2: INIT\n"


def test_a_folder_that_cannot_be_written_does_not_stop_the_run(sysfs: Path) -> None:
    (sysfs / "out").rmdir()
    ran = read(sysfs, "echo", "ran")
    assert (ran.returncode, ran.stdout) == (0, "ran\n")
    assert ran.stderr.startswith("railyard: vn1 cannot write ")


def test_a_call_without_a_command_is_an_error(sysfs: Path) -> None:
    ran = subprocess.run(["sh", str(sysfs / "reader.sh"), "out"], capture_output=True, text=True, timeout=PATIENCE_S)
    assert ran.returncode == 64
    assert ran.stderr == (
        "railyard: reader.sh OUTDIR TAG MEANT WATCHED -- EXECUTABLE ARGUMENT...: this call lacks one of these\n"
    )


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 5), (signal.SIGINT, 5), (signal.SIGUSR1, 6)], ids=["TERM", "INT", "USR1"]
)
def test_signals_reach_the_command_and_the_counters_are_still_read(sysfs: Path, number: int, code: int) -> None:
    script = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))\n"
        "signal.signal(signal.SIGUSR1, lambda *_: sys.exit(6))\n"
        "print('up', flush=True)\n"
        "time.sleep(6000)\n"
    )
    with subprocess.Popen(
        call(sysfs, sys.executable, "-c", script),
        env=environment(sysfs, MPI_LOCALRANKID="0"),
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        process.send_signal(number)
        assert process.wait(timeout=PATIENCE_S) == code
    assert parse(counters_text(sysfs), "run1").exit_code == code


def test_a_command_ended_by_a_signal_keeps_the_shells_code(sysfs: Path) -> None:
    assert read(sysfs, "sh", "-c", "kill -KILL $$").returncode == -9
    assert parse(counters_text(sysfs), "run1").exit_code == 137
