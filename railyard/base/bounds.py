"""All bounds that decide verdicts and path proofs, in one table: name, value, unit, reason, source."""

import re
from dataclasses import dataclass
from functools import cache

MB = 1_000_000
"""10^6 bytes, the megabyte of every MB/s here."""


@dataclass(frozen=True, slots=True)
class JudgingBound:
    """One number that decides between pass and fail, with its reason and its source."""

    name: str
    value: float
    unit: str
    reason: str
    source: str


_OWN = "engineering proposal of this project"
_OBSERVED = "observed on the virtual cluster"

IMPOSSIBLE_FACTOR = JudgingBound(
    "impossible-factor",
    1.02,
    "x limit",
    "if the clock is read a little early or late, a healthy run exceeds the limit by well under 2 %",
    _OWN,
)
COLLECTIVE_FROM = JudgingBound(
    "collective-from",
    1 << 20,
    "B",
    "ranks leave a collective of short messages before the bytes have arrived, since libraries keep a copy",
    _OWN,
)
COLLECTIVE_LEAST = JudgingBound(
    "collective-least",
    50,
    "us",
    "ranks enter a collective up to a microsecond apart, and a late rank waits less; 1 us is 2 % of 50 us",
    _OWN,
)
CLASS_SHARE = JudgingBound(
    "class-share",
    0.05,
    "of busbw",
    "library releases differ by that much, and so do runs: a value within 5 % of published ones agrees with them",
    _OWN,
)
CLASS_PEAK_FROM = JudgingBound(
    "class-peak-from",
    8 << 30,
    "B",
    "a peak that is published without its size is of long messages: a run with shorter ones may not have reached it",
    "one of NCCL's authors: look at the busbw of 8 GiB (NVIDIA/nccl issue 412); 256 MiB is too short (nccl-tests 212)",
)
WEAK_END_SHARE = JudgingBound(
    "weak-end-share",
    0.5,
    "of the limit",
    "if less is asked of a bandwidth, its messages are so short that their number sets it, or one flow of TCP is all "
    "that is asked: the output may pass at a half of its link's rate, so it is not judged where longer messages would "
    "ask more; else a remark says so",
    _OWN,
)
SHORT_END_SHARE = JudgingBound(
    "short-end-share",
    0.75,
    "of the limit",
    "if less is asked of a bandwidth whose sizes end below 1 MiB, a remark says so: an osu_bw that ends at 64 KiB is "
    "held to 57 % over HDR",
    _OWN,
)
RAILS_SHARE = JudgingBound(
    "rails-share",
    0.15,
    "of what the rails carry",
    "if a collective at its largest size may take so long that it has less of its rails' rate, its starts, the copies "
    "within its nodes or its sums set the bound, and a slow rail would not show: it is not judged. Healthy nodes that "
    "add up vectors themselves reached 19 % (allreduce of 1 MiB on 4 and 8 nodes of Power9 with EDR), and their bound "
    "is 15.4 % and 15.8 %, the lowest of the healthy outputs on the scoreboard",
    f"docs/reference/scoreboard.md; the share is {_OWN}",
)
ALL_RAILS_SHARE = JudgingBound(
    "all-rails-share",
    0.92,
    "of what the rails carry",
    "healthy windows of long messages reach that one way, so fewer rails cannot carry what they show, up to ten rails: "
    "what all but one can carry is not judged. With more rails, as many must be unable to carry it as a healthy run "
    "excludes, and a remark says how many could still be idle",
    "the lowest published share of a window one way over RDMA (railyard/hardware/day_one.py); both ways it is 79 %",
)
GPU_FLOOR_SHARE = JudgingBound(
    "gpu-floor-share",
    0.6,
    "of the bound",
    "on healthy nodes the busbw of long messages is nearer to the lowest bound of its algorithms: the lowest published "
    "share is 79 % (nodes with NVLink and NICs), the lowest of a genuine log 75 % (alltoall on one node of eight A100)",
    f"references/classes, all measurements on up to 12 nodes; superbenchmark's logs; the margin is {_OWN}",
)
GPU_ALL_NICS_SHARE = JudgingBound(
    "gpu-all-nics-share",
    0.75,
    "of the bound",
    "between the floor and this share of a bound that NICs set, some of the NICs may be idle: six of eight show at "
    "most 75 %. A run passes only above it; below it, and above the floor, nothing is said",
    f"computed; the lowest published share of healthy nodes is 79 %, and the margin is {_OWN}",
)
GPU_FLOOR_FROM = JudgingBound(
    "gpu-floor-from",
    1 << 30,
    "B",
    "shorter collectives wait longer for their start than for links, and the start takes longer on more nodes",
    "the measurements in references/classes",
)
GPU_FLOOR_NODES = JudgingBound(
    "gpu-floor-nodes",
    12,
    "nodes",
    "on more nodes the start-up of a collective takes a share of the time for which no number is published",
    "references/classes: no curve of nodes with NICs is of more nodes",
)
GPU_DIP_SHARE = JudgingBound(
    "gpu-dip-share",
    0.8,
    "of busbw",
    "busbw rises with the size and then levels out: of 12,416 genuine values that lie between others, only 7 are below "
    "80 % of the value of both a shorter and a longer message",
    f"776 tables of nccl-tests of 17 nodes with eight H100; the margin is {_OWN}",
)
GPU_DIP_FROM = JudgingBound(
    "gpu-dip-from",
    32 << 20,
    "B",
    "for shorter messages a library changes its protocol and algorithm with the size, and this causes steps too",
    "the smallest size of these tables",
)
GPU_SHORT_DIP_SHARE = JudgingBound(
    "gpu-short-dip-share",
    0.4,
    "of busbw",
    "from 1 MiB up to where longer messages are held to more, a change of protocol or algorithm costs up to a half at "
    "the size where it happens; less than that of both neighbours is no choice of a library. Of 105 genuine values "
    "below 32 MiB that lie between others, none is below both",
    f"7 tables of nccl-tests and rccl-tests of superbench, and one of a thread; the share is {_OWN}",
)
GPU_SHORT_DIP_FROM = JudgingBound(
    "gpu-short-dip-from",
    1 << 20,
    "B",
    "shorter messages take so little time that a single late rank doubles it; they are held to gpu-short-times",
    _OWN,
)
GPU_SHORT_TIMES = JudgingBound(
    "gpu-short-times",
    3,
    "times the time of a longer message",
    "a late rank may double the time of a short message, but no message takes three times as long as a longer one in "
    "both halves of its row: of 14,350 genuine values of nccl-tests none below 1 MiB takes more than 1.25 times",
    f"the outputs of nccl-tests and rccl-tests of superbench and of threads; the number is {_OWN}",
)
AGREEMENT_SHARE = JudgingBound(
    "agreement-share",
    0.03,
    "of a figure",
    "a row's bandwidth, time and message rate are one measurement, printed three times; rounding is allowed on top, "
    "and IMB's time of two ranks may be that of either",
    f"{_OWN}; the rows of 747 tables of the corpus and the recordings agree",
)
LEAST_LATENCY = JudgingBound(
    "least-latency",
    0.4,
    "us",
    "the lowest published half round trip between two nodes is 0.61 us; below 0.4 us it was shared memory",
    "lowest value of the published tables; the margin is this project's",
)
LEAST_OF_RDMA = JudgingBound(
    "least-latency-rdma",
    0.55,
    "us",
    "a library adds to what two cards take, and they take 0.61 us at least; in shared memory it takes 0.2 to 0.7 us",
    "over RDMA the lowest published value is 0.61 us without a library (Olusanya and Hussain, Comparing FDR and EDR "
    "InfiniBand, part 1); the margin is this project's",
)
LEAST_OF_MPI = JudgingBound(
    "least-latency-mpi",
    0.7,
    "us",
    "MPI adds what it looks up for a message: 0.2 us to the 0.61 us of the same cards. It took 0.80 us over EDR and "
    "0.81 us over FDR, 0.89 us by cable, 0.97 us at least in posted runs over InfiniBand, 1.43 us over RoCE, 2.99 us "
    "over Slingshot 11; in shared memory it takes 0.2 to 0.7 us",
    "over RDMA the lowest published value of MPI is 0.80 us: osu_latency over EDR with HPC-X, Olusanya and Hussain, "
    "Comparing FDR and EDR InfiniBand, part 1; the margin is this project's",
)
LEAST_OF_EFA = JudgingBound(
    "least-latency-efa",
    5.0,
    "us",
    "posted runs of MPI took 9.9 us at least (hpc6a); half of it leaves room for newer cards",
    "over EFA the lowest posted half round trip is 9.9 us; the margin is this project's",
)
LEAST_OF_TCP = JudgingBound(
    "least-latency-tcp",
    3.0,
    "us",
    "posted runs of MPI took 12.7 us at least through the kernel; a quarter of it leaves room for faster processors "
    "and polling",
    "over TCP the lowest posted half round trip is 12.7 us; the margin is this project's",
)
CARRIED_SHARE = JudgingBound(
    "carried-share",
    0.98,
    "of payload",
    "counters see payload and headers, so a healthy run shows more than 100 %; 2 % allows for a late reading",
    _OWN,
)
UNMEANT_SHARE = JudgingBound(
    "unmeant-share",
    0.01,
    "of payload",
    "launch, wire-up and file systems use the other networks; the run's own payload must not",
    _OWN,
)
SHARED_LEAST = JudgingBound(
    "shared-least",
    16 * MB,
    "B",
    "programs are read from a file system, and jobs start: less than this does not excuse a slow run",
    _OWN,
)
ACKNOWLEDGED = JudgingBound(
    "acknowledged",
    0.05,
    "of what comes the other way",
    "one acknowledgement of TCP for each segment is 66 B of 1514 B at MTU 1500; usually one answers two or more",
    "RFC 9293, section 3.8.6.3; RFC 5681, section 4.2",
)
LEAST_PAYLOAD = JudgingBound(
    "least-payload",
    1 * MB,
    "B",
    "connection set-up, ARP and neighbour discovery move tens of kilobytes: below 1 MB they could look like payload",
    _OWN,
)
WIRE_UP = JudgingBound(
    "wire-up",
    250_000,
    "B per node",
    "the start of a job moves tens of kilobytes between its nodes: addresses, connections, the launcher's messages",
    f"{_OWN}; 6 to 14 kB {_OBSERVED}",
)
WIRE_UP_RAIL = JudgingBound(
    "wire-up-rail",
    50_000,
    "B on a rail of a node",
    "connections, ARP and neighbour discovery of one rail; a split is judged if this is at most 2 points of it",
    _OWN,
)
SPLIT_POINTS = JudgingBound(
    "split-points",
    0.05,
    "of the bytes",
    "stacks that stripe by rate were seen within 1 point of even; 5 points leave room for unequal fragments",
    f"{_OWN}; Open MPI 5.0.11 and MPICH 5.0.2 {_OBSERVED}",
)
ROUND_ROBIN_POINTS = JudgingBound(
    "round-robin-points",
    0.10,
    "of the bytes",
    "whole messages alternate, so control messages and the order of sizes shift bytes: a healthy run gave 45/55",
    f"Intel MPI 2021.18 over PSM3 (65 and 80 MB) {_OBSERVED}",
)
PRINTED_ZERO_BELOW = JudgingBound(
    "printed-zero-below",
    4096,
    "B",
    "with two decimals a bandwidth below 0.005 MB/s is printed as 0.00: 1 B in 200 us, if ranks share cores; "
    "a message of 4 KiB would have taken 0.8 s",
    f"{_OBSERVED}: IMB 2021.11 prints 0.00 at 1 B",
)
IDLE_SHARE = JudgingBound(
    "idle-share",
    0.05,
    "of what the rail should carry",
    "a rail that carries less than 5 % of what it should carries no messages at all, only wire-up",
    _OWN,
)
COLLECTIVE_SHARE = JudgingBound(
    "collective-share",
    0.05,
    "of the node's bytes",
    "how a collective splits its bytes depends on its algorithm, so it is enough that a rail was used",
    _OWN,
)
SHARED_FACTOR = JudgingBound(
    "shared-factor",
    1.25,
    "x payload",
    "headers (6 % at MTU 1500), acknowledgements, unknown warm-ups; the shared-least allowance comes on top",
    _OWN,
)
SHARED_KNOWN = JudgingBound(
    "shared-known",
    1.1,
    "x the most that a run moves",
    "if repetitions and warm-ups are known: headers are 4.6 % of TCP's payload at MTU 1500 and 8 % of RoCE's at a "
    "path MTU of 1024, and less than 0.1 % is sent again; the shared-least allowance comes on top",
    f"payload per packet in railyard/hardware/limits.py; {_OBSERVED}: 100.2 to 100.5 % in 24 healthy runs",
)
MESSAGE_OVERHEAD = JudgingBound(
    "message-overhead",
    512,
    "B per message",
    "a short message is mostly headers: up to 100 B of the MPI library and 66 B of TCP, the handshake and the end of "
    "a rendezvous, and an acknowledgement of each",
    f"{_OWN}; headers of Open MPI 4 and MPICH 5 over TCP {_OBSERVED}",
)
IDLE_INTERVAL = JudgingBound(
    "idle-interval",
    0.2,
    "s",
    "the clock has steps of 10 ms, and within a shorter time one burst would be taken for a rate",
    _OWN,
)
HARD_ERRORS = JudgingBound(
    "hard-errors",
    0,
    "errors",
    "within the minutes of a run, a healthy fabric has no link that goes down and no packet that arrives broken or is "
    "never acknowledged; if the links of a site have some such errors, the site says how many",
    _OWN,
)
PORT_ERRORS = JudgingBound(
    "port-errors",
    10,
    "errors since cleared",
    "nobody knows how long ago a port's counters were cleared, and plugging in a cable causes some errors; growth "
    "between two readings is compared with hard-errors",
    "etc/error_thresholds of infiniband-diags (rdma-core)",
)
PORT_DISCARDS = JudgingBound(
    "port-discards",
    100,
    "packets since cleared",
    "packets that a port discarded or refused: a restart of a switch or a changed partition causes some",
    "etc/error_thresholds of infiniband-diags (rdma-core)",
)
FLAPS_PER_DAY = JudgingBound(
    "flaps-per-day",
    2,
    "flaps in 24 h",
    "a switch that is restarted, or a cable that is plugged in, takes a link down once or twice; a port that goes down "
    "more often in a day flaps. Gates run hours apart, so a day is looked at. A counter of errors (link_downed) must "
    "also keep to hard-errors between two gates",
    "sonic-swss 3933 gives up a port after three flaps in two hours, azurehpc-health-checks a node after several in "
    f"six hours; NVSentinel allows two changes of carrier, and no link_downed. The number per day is {_OWN}",
)
FLAP_QUIET = JudgingBound(
    "flap-quiet",
    24,
    "h",
    "a port that flapped too often counts as good again after so long without a flap that gates saw; what flaps by "
    "temperature or load comes back within a day. A boot, or a counter that was cleared, begins the time again",
    f"gpud (pull request 1247) leaves the time to the site and never forgets without it; the number is {_OWN}",
)
RESENT_SHARE = JudgingBound(
    "resent-share",
    0.001,
    "of segments",
    "healthy runs of three stacks stayed at 0.018 % or below, also with both rails full; above the bound each rail is "
    "measured alone, and a rail that loses packets with every partner fails",
    _OWN,
)
LATE_MEAN = JudgingBound(
    "late-mean",
    2.0,
    "x the typical latency",
    "perftest's mean is 1.5 times its typical latency or less on real cards: at twice and more, and above the bound, "
    "the typical value hides late messages, and the output is not judged",
    "40 genuine outputs of perftest with both columns",
)
RESENT_LEAST = JudgingBound(
    "resent-least",
    10,
    "segments sent again",
    "in short runs a few are chance: of a node that only acknowledged in a healthy run, two were 0.16 %",
    f"IMB Uniband {_OBSERVED}",
)
GATE_BUSY_SHARE = JudgingBound(
    "gate-busy-share",
    0.1,
    "of the processors",
    "if more of a node's processors are busy before a gate measures, a figure that is too low counts as disturbed and "
    "drains no node; one process besides the gate is always allowed",
    _OWN,
)
PREFLIGHT_SHARE = JudgingBound(
    "preflight-share",
    0.85,
    "of the median",
    "a preflight suspects a node whose best pair over a rail is below this share of the median of all nodes, and names "
    "it if it stays below with good partners; healthy nodes differ by a few per cent, a rail that lost a lane by half",
    _OWN,
)
UP_LINKS_SHARE = JudgingBound(
    "up-links-share",
    0.45,
    "of what up-links leave",
    "if all leaf switches meet at once, routes collide: networks of full bisection with static routes give 55 to 60 %, "
    "and a busy node a little less",
    "Hoefler et al., IEEE Cluster 2008; simulated trees of 64 nodes with random routes: 55 to 59 %; the margin is "
    f"{_OWN}",
)
CLOCK_SHARE = JudgingBound(
    "clock-share",
    0.5,
    "of the highest clock",
    "nominal clocks are 55 to 80 % of the highest one, which a processor reaches only while few of its cores work",
    _OWN,
)
BUSY_SHARE = JudgingBound(
    "busy-share",
    0.5,
    "of the threads",
    "HPL computes on nearly all of its threads; with a BLAS without threads it uses one, however many it was given",
    _OWN,
)
PACE_FACTOR = JudgingBound(
    "pace-factor",
    1.25,
    "times",
    "how much more or less than the printed rate the rails may have carried while the middle four fifths of a run's "
    "bytes passed; in runs of the virtual cluster on a busy host it was 0.91 to 1.02 times, and a benchmark that lies "
    "by a factor of 1.5 is found",
    _OWN,
)
PACE_LEAST = JudgingBound(
    "pace-least",
    0.4,
    "s",
    "shorter times are not compared: counters are read every 0.05 s, and the shaper passes 64 KiB at once",
    _OWN,
)
PRINTED_MOST = JudgingBound(
    "printed-most",
    1,
    "GiB",
    "32 times what is read of an output, so an output that is cut would have failed anyway, and a shared file system "
    "does not fill up; a lower limit would also end launchers that keep shared memory in files (PMIx)",
    _OWN,
)
WRITTEN_MOST = JudgingBound(
    "written-most",
    4,
    "GiB",
    "a process that prints without end fills the disk within its time limit; no job on our testbeds needs a file of "
    "that size",
    _OWN,
)
REFERENCE_SHARE = JudgingBound(
    "reference-share",
    0.5,
    "of what the link gives",
    "a reference in the wrong unit is 8 or 1,000 times too low; of 114 committed numbers for hardware, 111 ask for at "
    "least 50 % of what start-up and limit allow; a run at half of its link's rate has a fault or a known reason",
    f"{_OWN}; time of a message by R. Hockney, Parallel Computing 20 (1994)",
)
PROBE_SLOW_SHARE = JudgingBound(
    "probe-slow-share",
    0.85,
    "of the expected value",
    "if a rail alone gives all pairs the same, it can be compared only with the expected value; the lowest published "
    "streaming share of a healthy link is 92 % of the limit; the day-one floor is 85 % too",
    _OWN,
)
PROBE_MARGIN = JudgingBound(
    "probe-margin",
    0.03,
    "of the controls",
    "the smallest margin between a rail that is named and its controls, however steady both are: healthy rails of one "
    "kind differ by 1 to 2 %; if values scatter more, the margin is wider",
    _OWN,
)
PROBE_DELAY_MARGIN = JudgingBound(
    "probe-delay-margin",
    0.5,
    "of the controls",
    "the same for small messages, whose times are compared: with more switches between two nodes the time is up to "
    "twice as long without a fault, so only more than that is a delay",
    _OWN,
)
PROBE_WITNESSES = JudgingBound(
    "probe-witnesses",
    6,
    "probes",
    "so many probes of a suspect must have a good control directly before or after them: a disturbance would have to "
    "begin or end that often just between the two; two rounds give that many for a node with three partners",
    _OWN,
)
PROBE_CHANCE = JudgingBound(
    "probe-chance",
    1e-6,
    "chance",
    "the chance that a disturbance hit each of a suspect's probes, at the rate at which it hit the controls, which is "
    "at most one half; after a failure there are up to 140 comparisons (ten nodes and pairs, two rails, seven looks)",
    "H. Jeffreys, Proceedings of the Royal Society A 186 (1946), for a rate that was seen seldom or never",
)
PROBE_REACH = JudgingBound(
    "probe-reach",
    1e-10,
    "chance",
    "the chance above, times the chance that a rail's rate is more than t spreads of its six best values above them, "
    "(1 + t)^-5: this sets the margin of t spreads; t is at least 2, for values that do not end so sharply",
    "D. Robson and J. Whitlock, Biometrika 51 (1964), and P. Cooke, Biometrika 66 (1979), on the end point of values",
)
PROBE_ROUNDS_LEAST = JudgingBound(
    "probe-rounds-least",
    2,
    "rounds",
    "a value counts only if it was reached again: six probes of a node's rail show a spread",
    _OWN,
)
PROBE_ROUNDS_MOST = JudgingBound(
    "probe-rounds-most",
    8,
    "rounds",
    "a rail that is still undecided after eight rounds is disturbed most of the time; it blames nobody",
    _OWN,
)
PROBE_TIME = JudgingBound(
    "probe-time",
    120,
    "s",
    "for all probes after a run together, or for an extra job's: two rounds of a rail that gives no "
    "result with three partners take 100 s, since each such probe ends after 20 s, and sooner in the second round; "
    "eight rounds of two rails take 60 to 100 s",
    _OWN,
)
PROBE_STARVED_SHARE = JudgingBound(
    "probe-starved-share",
    0.1,
    "of the time",
    "processes that wait for a processor for a tenth of the time give less than their rail can",
    _OWN,
)

STARVED_SHARE = JudgingBound(
    "starved-share",
    0.02,
    "of the time",
    "on any host a test waits for a processor for a shorter time than this; a longer wait excuses a reference that was "
    "missed by at most twice the wait's share, since a process that waits can lose that share of its figure on each of "
    "the two sides",
    _OWN,
)

BOUNDS: tuple[JudgingBound, ...] = (
    IMPOSSIBLE_FACTOR,
    COLLECTIVE_FROM,
    COLLECTIVE_LEAST,
    CLASS_SHARE,
    CLASS_PEAK_FROM,
    WEAK_END_SHARE,
    SHORT_END_SHARE,
    RAILS_SHARE,
    ALL_RAILS_SHARE,
    GPU_FLOOR_SHARE,
    GPU_ALL_NICS_SHARE,
    GPU_FLOOR_FROM,
    GPU_FLOOR_NODES,
    GPU_DIP_SHARE,
    GPU_DIP_FROM,
    GPU_SHORT_DIP_SHARE,
    GPU_SHORT_DIP_FROM,
    GPU_SHORT_TIMES,
    AGREEMENT_SHARE,
    LEAST_LATENCY,
    LEAST_OF_RDMA,
    LEAST_OF_MPI,
    LEAST_OF_EFA,
    LEAST_OF_TCP,
    CARRIED_SHARE,
    UNMEANT_SHARE,
    SHARED_LEAST,
    ACKNOWLEDGED,
    LEAST_PAYLOAD,
    WIRE_UP,
    WIRE_UP_RAIL,
    SPLIT_POINTS,
    ROUND_ROBIN_POINTS,
    PRINTED_ZERO_BELOW,
    IDLE_SHARE,
    COLLECTIVE_SHARE,
    SHARED_FACTOR,
    SHARED_KNOWN,
    MESSAGE_OVERHEAD,
    IDLE_INTERVAL,
    HARD_ERRORS,
    PORT_ERRORS,
    PORT_DISCARDS,
    FLAPS_PER_DAY,
    FLAP_QUIET,
    RESENT_SHARE,
    LATE_MEAN,
    RESENT_LEAST,
    GATE_BUSY_SHARE,
    PREFLIGHT_SHARE,
    UP_LINKS_SHARE,
    CLOCK_SHARE,
    BUSY_SHARE,
    PACE_FACTOR,
    PACE_LEAST,
    PRINTED_MOST,
    WRITTEN_MOST,
    REFERENCE_SHARE,
    PROBE_SLOW_SHARE,
    PROBE_MARGIN,
    PROBE_DELAY_MARGIN,
    PROBE_WITNESSES,
    PROBE_CHANCE,
    PROBE_REACH,
    PROBE_ROUNDS_LEAST,
    PROBE_ROUNDS_MOST,
    PROBE_TIME,
    PROBE_STARVED_SHARE,
    STARVED_SHARE,
)


def without_names(text: str) -> str:
    """Return a sentence without the names of bounds: ``(margin 4.2 %, probe-margin)`` is ``(margin 4.2 %)``.

    Neither has it the file of bounds: ``(railyard/base/bounds.py: gpu-floor-share)`` goes.
    """
    alone, after = _names()
    return after.sub("", alone.sub("", text))


@cache
def _names() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of a name in parentheses of its own, and of one after other words."""
    name = f"(?:{'|'.join(re.escape(bound.name) for bound in BOUNDS)})"
    several = f"(?:the larger of )?{name}(?: and {name})?"
    return re.compile(rf" \((?:railyard/base/bounds\.py: )?{several}\)"), re.compile(rf", {several}(?=[),;]|$)")


def document() -> str:
    """Return the table as Markdown, one row per bound, in the table's order. The documentation has this text."""
    rows = ["| bound | value | unit | reason | source |", "| --- | --- | --- | --- | --- |"]
    rows += [f"| `{b.name}` | {b.value:g} | {b.unit} | {b.reason} | {b.source} |" for b in BOUNDS]
    return "\n".join(rows) + "\n"
