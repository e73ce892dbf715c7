"""Synthetic system files that tests of several folders write: no such cluster was ever seen."""

_EDR_HEAD = """\
system: made
description: Four nodes with two EDR rails
nodes: {names: [vn1, vn2, vn3, vn4]}
report_only: a made system has no references
fabrics:
  edr:
    description: Two cards a node
    kind: ib
    link: ib-edr
    slot: pcie3-x16
    rails:
      - {device: mlx5_0, port: 1, counters: mlx5}
      - {device: mlx5_1, port: 1, counters: mlx5}
"""
_ROCE = """\
  roce:
    description: The same cards as Ethernet
    kind: roce
    link: roce-100
    slot: pcie3-x16
    rails:
      - {device: mlx5_0, port: 1, counters: mlx5}
      - {device: mlx5_1, port: 1, counters: mlx5}
"""
_OPENMPI = """\
stacks:
  openmpi: {modules: [openmpi], benchmarks: {osu: /opt/osu}}
"""
EDR = _EDR_HEAD + _OPENMPI
"""The fabric of ``tests/e2e/fabric.net`` (``made``): vn1 to vn4, two EDR rails each."""
EDR_AND_ROCE = _EDR_HEAD + _ROCE + _OPENMPI
"""The same, but its cards may also be Ethernet."""

_NAMED, _NETPIPE = "names: [e1, e2]", "openmpi: {prefix: /opt/ompi, benchmarks: {netpipe: /opt/ompi/bin/NPmpi}}"
ETH = f"""\
system: eth
description: Two rails of Ethernet
nodes: {{{_NAMED}}}
report_only: nothing is known of it
fabrics:
  eth:
    description: Ethernet
    kind: tcp
    link: eth-10
    rails:
      - {{device: eth1, counters: netdev}}
      - {{device: eth2, counters: netdev}}
stacks:
  {_NETPIPE}
"""
"""Two nodes by name, two rails of 10 Gbit/s (``eth``)."""
ETH_ANYWHERE = ETH.replace(_NAMED, "count: 4").replace(_NETPIPE, "tcp: {prefix: /usr, benchmarks: {iperf3: /bin/sh}}")
"""The same with nodes that the scheduler would choose, and a stack that is there on every test machine."""
HDR = """\
system: hdr
description: Two rails of HDR, Slurm
scheduler: slurm
launcher: srun
access: ["--partition=batch"]
nodes: {count: 8}
report_only: nothing is known of it
fabrics:
  hdr:
    description: HDR
    kind: ib
    link: ib-hdr
    slot: pcie4-x16
    rails:
      - {device: mlx5_0, port: 1, counters: mlx5}
      - {device: mlx5_1, port: 1, counters: mlx5}
stacks:
  openmpi: {prefix: /opt/ompi, benchmarks: {osu: /opt/osu/mpi}}
"""
"""Two rails of HDR under Slurm, on nodes that the scheduler chooses (``hdr``)."""
HDR_BY_NAME = HDR.replace("nodes: {count: 8}", "jobs: {account: abc}\nnodes: {names: [n1, n2, n3]}")
"""The same with three nodes by name, and an account."""

TWO_CARDS = """\
fabrics:
  ib:
    description: two cards
    kind: ib
    link: ib-edr
    rails:
      - {device: mlx5_0, port: 1, counters: mlx5}
      - {device: mlx5_1, port: 1, counters: mlx5}
"""
"""The fabrics of a system: one with two EDR rails; others may be added."""

GPUS = """\
system: made
description: Four nodes of eight H100 with two NDR cards in slots of PCIe 5, and Ethernet
nodes: {names: [vn1, vn2, vn3, vn4]}
report_only: a made system has no references
gpus:
  per_node: 8
  kind: NVIDIA H100 SXM5 80 GB
  nvlink: 4
  slot: pcie5-x16
  nearest: {mlx5_0: [2, 3], mlx5_1: [6]}
fabrics:
  ndr:
    description: NDR
    kind: ib
    link: ib-ndr
    slot: pcie5-x16
    rails:
      - {device: mlx5_0, port: 1, counters: mlx5}
      - {device: mlx5_1, port: 1, counters: mlx5}
  eth:
    description: Ethernet
    kind: tcp
    link: eth-100
    rails: [{device: eth0, counters: netdev}]
stacks:
  openmpi:
    modules: [openmpi]
    benchmarks: {osu: /opt/osu, nvbandwidth: /opt/nvbandwidth}
    device_buffers: cuda
  mpich: {modules: [mpich], benchmarks: {osu: /opt/osu}}
  verbs: {prefix: /usr, benchmarks: {perftest: /usr/bin}, device_buffers: cuda}
"""
"""Four nodes with GPUs; one of two MPI libraries can send messages from GPU memory."""
