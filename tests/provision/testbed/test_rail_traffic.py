"""Reading the counters of a testbed's nodes while a run measures."""

import time
from pathlib import Path

from railyard.provision.testbed.starvation import TrafficWatch, bytes_of

NET_DEV = """\
Inter-|   Receive                            |  Transmit
 face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo colls carrier compressed
    lo:      10       1    0    0    0     0 0 0       10       1    0    0    0     0       0   0
  hsn0: {received}   37    0    0    0     0 0 0     4000      38    0    0    0     0       0   0
"""


def test_bytes_of_a_device_are_those_sent_and_those_received() -> None:
    assert bytes_of(NET_DEV.format(received=3000)) == {"lo": 20, "hsn0": 7000}


def test_a_watch_reads_each_node_again_and_again_and_a_node_that_ended_no_more(tmp_path: Path) -> None:
    file = tmp_path / "dev"
    file.write_text(NET_DEV.format(received=3000))
    watch = TrafficWatch({"vn1": file, "vn2": tmp_path / "gone"}).start()
    for received in (4000, 5000):
        time.sleep(0.2)
        # Written beside it and renamed: the kernel's file is never empty, and this one must not be while it is written.
        (tmp_path / "next").write_text(NET_DEV.format(received=received))
        (tmp_path / "next").replace(file)
    time.sleep(0.2)
    found = watch.stop()
    assert set(found) == {"vn1"}
    assert [one.moved["hsn0"] for one in found["vn1"]][:: len(found["vn1"]) - 1] == [7000, 9000]
    times = [one.at_s for one in found["vn1"]]
    assert times == sorted(times)
