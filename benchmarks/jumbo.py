"""What jumbo frames save a receiver: packets and NET_RX softirqs per MiB over TCP, at an MTU of 1500 and 9000 bytes.

    .venv/bin/python benchmarks/jumbo.py [--repeats 3] [--mebibytes 256]

It uses two network namespaces and a veth pair like the virtual cluster, but with one segment per packet (gso_max_segs
1): else the pair passes on up to 64 KiB at a time, whatever its MTU. /proc/softirqs counts the whole machine, so other
traffic counts too; the packets are the pair's own. It needs what the virtual cluster needs.
"""

import argparse
import statistics
import subprocess
import sys

from railyard.provision.testbed.boot import outer_options

MTUS = (1500, 9000)
#: Runs in namespaces: prints "<packets> <softirqs>" of one transfer. $1: MTU, $2: MiB, $3: python.
_TRANSFER = r"""
mount -t tmpfs none /run; mkdir -p /run/netns
ip netns add a; ip netns add b
ip link add va netns a type veth peer name vb netns b
ip -n a link set va mtu "$1" gso_max_segs 1 up; ip -n b link set vb mtu "$1" gso_max_segs 1 up
ip -n a addr add 10.0.0.1/24 dev va; ip -n b addr add 10.0.0.2/24 dev vb
packets() { ip netns exec b cat /sys/class/net/vb/statistics/rx_packets; }
softirqs() { awk '/NET_RX/ { for (i = 2; i <= NF; i++) sum += $i; print sum }' /proc/softirqs; }
before="$(packets) $(softirqs)"
mkfifo /run/ready
ip netns exec b "$3" -c '
import socket
server = socket.create_server(("10.0.0.2", 5000))
open("/run/ready", "w").close()
peer, _ = server.accept()
while peer.recv(1 << 20):
    pass' &
cat /run/ready
ip netns exec a "$3" -c '
import socket, sys
peer = socket.create_connection(("10.0.0.2", 5000))
for _ in range(int(sys.argv[1])):
    peer.sendall(bytes(1 << 20))' "$2"
wait
echo "$before $(packets) $(softirqs)" | awk '{ print $3 - $1, $4 - $2 }'
"""


def main() -> None:
    """Print the median of all repeats for each MTU, and how many times fewer there are at the larger MTU."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--mebibytes", type=int, default=256)
    asked = arguments.parse_args()
    print("MTU   packets a MiB  NET_RX a MiB")
    found = []
    for mtu in MTUS:
        repeats = [transfer(mtu, asked.mebibytes) for _ in range(asked.repeats)]
        packets, softirqs = (statistics.median(column) / asked.mebibytes for column in zip(*repeats, strict=True))
        found.append((packets, softirqs))
        print(f"{mtu:<5} {packets:>13.1f} {softirqs:>13.1f}")
    print(f"times {found[0][0] / found[1][0]:>13.2f} {found[0][1] / found[1][1]:>13.2f}")


def transfer(mtu: int, mebibytes: int) -> tuple[int, int]:
    """Return the packets that the receiver got for this many MiB, and the machine's softirqs meanwhile."""
    words = ["unshare", *outer_options(), "sh", "-ec", _TRANSFER, "sh", str(mtu), str(mebibytes), sys.executable]
    told = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()
    return int(told[0]), int(told[1])


if __name__ == "__main__":
    main()
