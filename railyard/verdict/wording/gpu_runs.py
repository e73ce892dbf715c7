"""The sentences about runs of collectives between GPUs: which GPUs took part, pairs of nodes, and rails one by one.

The sentences of rules 3 and 5 for collectives between GPUs.
"""

from collections.abc import Sequence
from typing import Literal

from railyard.base.bounds import GPU_ALL_NICS_SHARE, GPU_FLOOR_FROM, GPU_FLOOR_NODES, GPU_FLOOR_SHARE
from railyard.base.wording import count_of, listing, message_size, number, percent
from railyard.verdict.wording import NOBODY_BLAMED


def describe_target(system: str, fabric: str, nodes: str, of_class: str) -> str:
    """Return what a run is judged by; without a ``system`` its ``nodes`` in words, and numbers of a class, if any."""
    who = f"{system}, fabric {fabric}: {nodes}" if system else f"nodes of {nodes}"
    return f"{who}, and published numbers of {of_class}" if of_class else who


def healthy_curve(why: str, sentence: str, rises: bool) -> str:
    """Return what the floor says of a report-only system; ``rises``: the curve is known to have no dip or fall."""
    more = "; the curve has no dip, and does not fall" if rises else ""
    return f"report-only ({why}): {sentence}{more}"


def other_context(benchmark: str, found: str | float | None, name: str, asked: int) -> str:
    """Return that a run has other nodes, groups, ranks or iterations than asked for; None: its output does not say."""
    shown = "an unknown number of" if found is None else found
    return f"{benchmark} has {shown} {name}, {asked} were asked for"


def no_log_of_library() -> str:
    """Return that an output has no log."""
    return "the output does not have the library's own log, so it does not show which NIC each GPU used"


def group_of_gpus() -> str:
    """Return what moves bytes within a node."""
    return "group of GPUs"


def own_links() -> str:
    """Return links of GPUs whose kind is not known."""
    return "their links"


def unknown_traffic(why: str) -> str:
    """Return that it is not known how much each node must move."""
    return f"it is not known how much each node must move: {why}"


def no_formula_for(benchmark: str) -> str:
    """Return that the bytes of a benchmark are not known."""
    return f"Railyard has no formula for {benchmark}"


def gpus_not_in_file(system: str) -> str:
    """Return that the system's file does not say which GPUs take part."""
    return f"systems/{system}.yaml does not say which GPUs take part (gpus)"


def unknown_iterations() -> str:
    """Return that an output does not say how often it measured."""
    return "the output does not say how often each size was measured"


def shared_domain() -> str:
    """Return that several nodes share a domain."""
    return "several nodes share an NVLink domain, and the library chooses which of them uses its NICs"


def shared_nics(gpus: int, nics: int) -> str:
    """Return that GPUs of a node share NICs."""
    return f"{count_of(gpus, 'GPU')} share {count_of(nics, 'NIC')}, and bytes from a NIC to itself do not pass a port"


def rail_rates(rates: Sequence[tuple[int, float]]) -> str:
    """Return the rate in GB/s of each rail by the GPU that was first, without the unit."""
    return ", ".join(f"GPU {gpu} {number(rate)}" for gpu, rate in rates)


def alike_rails(rates: Sequence[tuple[int, float]]) -> str:
    """Return that no rail is slower than the others."""
    return f"each rail with its GPU first: {rail_rates(rates)} GB/s, so no rail is slower than the others"


def slow_rail(rate_gb_s: float, others_gb_s: float, nodes: Sequence[str]) -> str:
    """Return why a rail is a suspect that is slower than the others."""
    return (
        f"{number(rate_gb_s)} GB/s, the other rails give {number(others_gb_s)}; the slowest of {listing(nodes)} decides"
    )


def slow_rails(rails: Sequence[tuple[str, int]], rates: Sequence[tuple[int, float]]) -> str:
    """Return which rails are slow, each with its GPU, and the rates of all."""
    named = listing([f"{rail} (GPU {gpu})" for rail, gpu in rails])
    return f"{named} of one of these nodes: {rail_rates(rates)} GB/s"


def look_at_pairs() -> str:
    """Return what to run if a rail is slow."""
    return "pairs of nodes, which show the node: railyard run --extended -n NcclPairs"


def one_of_rails(rails: Sequence[str], gpu: int) -> str:
    """Return the rail of a GPU: any of these, or one without a name."""
    return " or ".join(rails) if rails else f"the rail of GPU {gpu}"


def no_valid_result() -> str:
    """Return what is wrong with steps without a result."""
    return "gave no valid result"


def used_other_gpus() -> str:
    """Return what is wrong with steps on other GPUs."""
    return "used other GPUs than asked for"


def pair_of_nodes(first: str, second: str, gpu: int | None) -> str:
    """Return a step's nodes, and its GPU if it used only one of each."""
    return f"{first} and {second}{'' if gpu is None else f', GPU {gpu}'}"


def step_with_reason(pair: str, log: str, why: str) -> str:
    """Return a step with its log and what is wrong with it."""
    return f"{pair} ({log}: {why})"


def bad_steps(bad: int, steps: int, what: str, shown: Sequence[str]) -> str:
    """Return how many steps have something wrong, and the first of them."""
    more = f" and {bad - len(shown)} more" if bad > len(shown) else ""
    return f"{bad} of {count_of(steps, 'step')} {what}: {', '.join(shown)}{more}"


def rounds_left(rounds: int) -> str:
    """Return that there was no time for some rounds of pairs."""
    return (
        f"the time limit was too short for {count_of(rounds, 'round')} of pairs: set a longer one (time_limits of the "
        "system's file), or fewer rounds (-S NcclPairs.shifts=)"
    )


def of_step(pair: str, log: str, sentence: str) -> str:
    """Return what a step's log contradicts."""
    return f"{pair} ({log}): {sentence}"


def of_pair(pair: str, remark: str) -> str:
    """Return a remark about a step."""
    return f"{pair}: {remark}"


def started_again(steps: int) -> str:
    """Return how many steps started again."""
    return f"{count_of(steps, 'step')} started again after a bug of the launcher"


def no_log_of_any_pair() -> str:
    """Return that no pair has a log."""
    return "no pair's log has the library's own log, so it is not known which NIC each GPU used"


def say_undecided(part: str) -> str:
    """Return a part that is slow but not named."""
    return f"undecided: {part}"


def more_parts(count: int) -> str:
    """Return how many more parts are slow, and what shows them."""
    return f"and {count} more (railyard pairs judge --tool nccl)"


def blamed_part(part: str, evidence: Sequence[str], sure: str, confirmed: bool) -> str:
    """Return a slow part with what speaks against it and how sure it is; ``confirmed``: it was also bad alone."""
    unsure = "" if confirmed else f"; not measured alone, so {NOBODY_BLAMED}"
    return f"{suspected_part(part, evidence)} ({sure}){unsure}"


def suspected_part(part: str, evidence: Sequence[str]) -> str:
    """Return a slow part with what speaks against it."""
    return f"{part}: {', '.join(evidence)}"


def too_few_pairs(pairs: int, least: int) -> str:
    """Return that too few pairs were measured."""
    return f"{count_of(pairs, 'pair')} of nodes: too few to compare them with one another (at least {least})"


def alike_pairs(pairs: int, least_share: float) -> str:
    """Return that all pairs are alike."""
    return f"{count_of(pairs, 'pair')} of nodes give at least {number(100 * least_share)} % of what healthy ones give"


def no_pair() -> str:
    """Return that no pair gave a result."""
    return "no pair gave a result"


#: Why a step never began. Slurm's plugin pmi2 breaks starts of MPICH; a step is started once more.
BROKEN_TWICE = "a bug of the launcher (mpi/pmi2) ended its start twice"


def launcher_bug() -> str:
    """Return that a step never began."""
    return f"{BROKEN_TWICE}, so it says nothing about a network"


def say_reported(quoted: str, line: int) -> str:
    """Return what an output reports."""
    return f'its output reports "{quoted}" (line {line})'


def ended_after(seconds: int) -> str:
    """Return that a step's time was over."""
    return f"ended after {count_of(seconds, 'second')}"


def exit_code(code: int | None) -> str:
    """Return with which exit code a step ended."""
    return f"exit code {code}"


def ran_on(hosts: Sequence[str]) -> str:
    """Return on which nodes a step ran."""
    return f"it ran on {listing(hosts)}"


def other_rank_count(ranks: int, due: int) -> str:
    """Return that a step has another number of ranks."""
    return f"it has {count_of(ranks, 'rank')}, expected {due}"


def other_gpus(gpus: Sequence[int | None]) -> str:
    """Return that a step used other GPUs."""
    used = listing([f"GPU {gpu}" for gpu in gpus])
    return f"it used {used}: NCCL_TESTS_DEVICE did not reach the tests, or their release does not have it"


def all_pairs() -> str:
    """Return who is at fault if every pair shares it."""
    return "all pairs"


def of_benchmark(benchmark: str, sentence: str) -> str:
    """Return what is wrong with a benchmark of a log."""
    return f"{benchmark}: {sentence}"


def sockets_instead(link: str, line: int, reason: str) -> str:
    """Return that a log names sockets; ``link``: that of the nodes, empty if nobody says it."""
    return f"it used sockets (TCP){f' instead of {link}' if link else ''} (line {line}){reason}"


def say_unchecked(tests: int) -> str:
    """Return that tests did not check what arrived."""
    return f"{count_of(tests, 'test')} did not check what arrived (-c 0): wrong data would not show"


def slow_fastest(layer: str, sentence: str) -> str:
    """Return that even the fastest pair is slow."""
    return f"even the fastest, {layer}: {sentence}"


def unknown_whether_alike(layer: str, sentence: str) -> str:
    """Return that no floor says whether all pairs are slow alike."""
    return f"{layer}: whether all pairs are slow alike: {sentence}"


def no_formula(collective: str) -> str:
    """Return that nothing is known of a collective."""
    return f"no formula is known for {collective}"


def nodes_not_listed() -> str:
    """Return that an output does not list its ranks."""
    return "the output does not list its ranks, so the number of nodes is not known: give it with --nodes"


def incomplete_list() -> str:
    """Return that an output does not list all ranks."""
    return "its list of ranks is not complete"


def one_of_groups(ranks: int, groups: int) -> str:
    """Return that an output's ranks are one of several groups."""
    return f"its {ranks} ranks are one of {groups} communicators that ran at once (NCCL_TESTS_SPLIT)"


def uneven_ranks(ranks: int, nodes: int) -> str:
    """Return that ranks are not spread evenly."""
    return f"its {ranks} ranks are not spread evenly over {nodes} nodes"


def one_rank() -> str:
    """Return that a collective of one rank moves nothing."""
    return "it has one rank, and a collective of one rank moves nothing"


def several_kinds(kinds: Sequence[tuple[str, int, str, int]]) -> str:
    """Return that GPUs are of several kinds: each with a rank, its host, and its line."""
    shown = listing([f"{kind} (rank {rank} on {host}, line {line})" for kind, rank, host, line in kinds])
    return f"its GPUs are not of one kind: {shown}"


def other_links(gpu: str, line: int, generation: str, option: str, given: str) -> str:
    """Return that GPUs have other links than given; ``option``: what gives them."""
    return f"the output is from {gpu} (line {line}), whose link is {generation}, and {option} has {given}"


def same_gpu(first: int, second: int, line: int, bus_id: str, host: str) -> str:
    """Return that a host lists one GPU twice."""
    return (
        f"ranks {first} and {second} (line {line}) have the same GPU [{bus_id}] of {host}: several nodes have this "
        "name, or ranks share a GPU, so the number of nodes is not known"
    )


def other_ranks(
    rates_gb_s: tuple[float, float], collective: str, least: int, most: int | None, nodes: int, gpus: int, ranks: int
) -> str:
    """Return that busbw and algbw are those of another number of ranks; ``most`` None: or of any larger number."""
    busbw, algbw = rates_gb_s
    shown = f"{least}" if least == most else f"{least} to {'more' if most is None else number(most, 6)}"
    return (
        f"busbw {busbw:g} and algbw {algbw:g} GB/s are those of {collective} with {shown} ranks, and "
        f"{count_of(nodes, 'node')} of {count_of(gpus, 'GPU')} have {ranks}: it is from several jobs, fewer GPUs per "
        "node, or another number of nodes"
    )


Half = Literal["out of place", "in place"]


def in_file_of_bounds(bound: str) -> str:
    """Return where a bound is, by its name."""
    return f"(railyard/base/bounds.py: {bound})"


def at_row(size_bytes: int, in_place: bool) -> str:
    """Return the row that a sentence is about, as its begin."""
    return f"at {message_size(size_bytes)}{' in place' if in_place else ''}: "


def in_brackets(source: str) -> str:
    """Return what says which algorithm was used, as the end of a sentence."""
    return f" ({source})"


def no_busbw() -> str:
    """Return that an output has no busbw."""
    return "no busbw was read"


def possible_algorithms(algorithms: Sequence[str]) -> str:
    """Return which algorithms may have been used, as the end of a sentence."""
    return f"; the output does not name the algorithm: {listing(algorithms)} are possible"


def look_at_nodes() -> str:
    """Return what to look at if a busbw is impossible."""
    return "whether GPUs, NICs and link are right for the nodes (--nodes-have), and whether it used the network"


def more_than_listed(busbw_gb_s: float, size_bytes: int, host: str, listed: int, nics: int, line: int) -> str:
    """Return that the NICs which a log lists for a host cannot carry a busbw."""
    return (
        f"busbw {number(busbw_gb_s)} GB/s at {message_size(size_bytes)} is more than what NCCL's log lists for {host} "
        f"can carry, {count_of(listed, 'NIC')} of {nics} (line {line}): show the log of every process, or say which "
        "nodes these were (--nodes-have)"
    )


def look_within_node(disturbed: bool) -> str:
    """Return what to look at if the bytes of a slow run never left one node or domain.

    Access control of PCIe (ACS) sends what GPUs exchange through the processor. Source: NVIDIA, NCCL documentation,
    Troubleshooting, GPU Direct and PCI Access Control Services.
    """
    first = "who else used the GPUs, and their heat and clocks; then " if disturbed else ""
    return (
        f"{first}the links between the node's GPUs: nvidia-smi nvlink -s and topo -m, speed and width of their PCIe "
        "slots, and whether ACS is off"
    )


def suggest_class(why: str) -> str:
    """Return why no floor judges a run, and what else does."""
    return f"{why}; --class compares it with published numbers"


def above_floor(busbw_gb_s: float, size_bytes: int) -> str:
    """Return that the largest value is above the floor."""
    return f"busbw {number(busbw_gb_s)} GB/s at {message_size(size_bytes)} is above the floor"


def alone_above_floor(busbw_gb_s: float, size_bytes: int, low: str) -> str:
    """Return that the largest value is above the floor, and most others are not (``low``)."""
    return f"{above_floor(busbw_gb_s, size_bytes)}, but {low}"


def above_floor_of_healthy(busbw_gb_s: float, size_bytes: int, lowest_bound: str) -> str:
    """Return that a curve is above the floor of healthy nodes."""
    return (
        f"{above_floor(busbw_gb_s, size_bytes)} of healthy nodes, {percent(GPU_FLOOR_SHARE.value)} of the lowest "
        f"bound, {lowest_bound} {in_file_of_bounds(GPU_FLOOR_SHARE.name)}"
    )


def most_below_floor(low: int, long: int, busbw_gb_s: float, size_bytes: int, lowest_bound: str) -> str:
    """Return how many long messages are below the floor, with the value of the largest of them."""
    return (
        f"{low} of {count_of(long, 'long message')} are below it ({number(busbw_gb_s)} GB/s at "
        f"{message_size(size_bytes)}): {percent(GPU_FLOOR_SHARE.value)} of the lowest bound, {lowest_bound} "
        f"{in_file_of_bounds(GPU_FLOOR_SHARE.name)}"
    )


def nics_may_be_idle(busbw_gb_s: float, share: float, lowest_bound: str, used: int, nics: int) -> str:
    """Return that fewer NICs than a node has can show the value too."""
    return (
        f"busbw of long messages is at most {number(busbw_gb_s)} GB/s, {percent(share)} of the lowest bound, "
        f"{lowest_bound}: above the floor of healthy nodes, but {used} of {count_of(nics, 'NIC')} of a node can show "
        f"it too {in_file_of_bounds(GPU_ALL_NICS_SHARE.name)}; each pair of nodes and each NIC alone would tell"
    )


def below_floor(busbw_gb_s: float, size_bytes: int, share: float, lowest_bound: str) -> str:
    """Return that the largest value of long messages is below what healthy nodes show."""
    return (
        f"busbw of long messages is at most {number(busbw_gb_s)} GB/s (at {message_size(size_bytes)}), "
        f"{percent(share)} of the lowest bound, {lowest_bound}; healthy nodes have at least "
        f"{percent(GPU_FLOOR_SHARE.value)} {in_file_of_bounds(GPU_FLOOR_SHARE.name)}"
    )


def brief_below_floor(busbw_gb_s: float, share: float) -> str:
    """Return the largest value of long messages as a headline; ``share``: of what such nodes can show."""
    return (
        f"busbw is {percent(share)} of what these nodes can show: {number(busbw_gb_s)} GB/s; healthy ones reach "
        f"{percent(GPU_FLOOR_SHARE.value)}"
    )


def look_at_log() -> str:
    """Return what to look at if a curve is below the floor."""
    return "NCCL's log (NCCL_DEBUG=INFO): network, NICs and GPUDirect RDMA; then each pair of nodes alone"


def nothing_to_compare() -> str:
    """Return that there is no class, no curve, or no formula."""
    return "nothing to compare"


def other_gpu(gpu: str, of_class: str) -> str:
    """Return that an output is from another GPU than the class is for."""
    return f"the output is from {gpu}, but {of_class} is for {of_class.partition('-')[0].upper()}"


def card_without_switch(gpu: str, link: str, of_class: str) -> str:
    """Return that an output is from a card which has not the links of the class."""
    return f"the output is from {gpu}, a card that no {link} switch connects as in {of_class}"


def some_gpus(used: int, gpus: int) -> str:
    """Return that only some of a node's GPUs took part, and that published numbers are from all."""
    return f"the output is from {used} of {gpus} GPUs per node, but the published numbers are from all"


def look_at_source() -> str:
    """Return what to look at if a curve is below published numbers."""
    return "library, settings and conditions of the source, then each pair of nodes alone"


def more_nodes(sentence: str, nodes: int) -> str:
    """Return that a curve is below published numbers, but is from more nodes."""
    return f"{sentence}, which is from {count_of(nodes, 'node')}; yours is from more, and more nodes may give less"


def dip(busbw_gb_s: float, size_bytes: int, in_place: bool, share: float, beside_gb_s: float, between: bool) -> str:
    """Return that a message is slower than those around it; ``between``: than its two neighbours only."""
    reach = "both its neighbours reach" if between else "both shorter and longer messages reach"
    return (
        f"a dip in the curve: busbw {number(busbw_gb_s)} GB/s at {message_size(size_bytes)}"
        f"{' in place' if in_place else ''} is {percent(share)} of the {number(beside_gb_s)} GB/s that {reach}"
    )


def look_at_dip() -> str:
    """Return what to look at if a curve has a dip."""
    return "who else used the network; run it again: if the dip stays, the library's choice of algorithm causes it"


def late_message(size_bytes: int, times: float, both: bool) -> str:
    """Return that a short message takes much longer than a longer one; ``both``: in both halves of its row."""
    return (
        f"a dip in the curve: a message of {message_size(size_bytes)} takes {times:.1f} times as long as a longer one"
        f"{', out of place and in place' if both else ''}"
    )


def fall(busbw_gb_s: float, size_bytes: int, in_place: bool, share: float, best_gb_s: float, best_bytes: int) -> str:
    """Return that long messages are slower than shorter ones."""
    return (
        f"the curve falls: busbw {number(busbw_gb_s)} GB/s at {message_size(size_bytes)}"
        f"{' in place' if in_place else ''} is {percent(share)} of the {number(best_gb_s)} GB/s that shorter messages "
        f"reach ({message_size(best_bytes)}), and no longer message is fast again"
    )


def look_at_fall() -> str:
    """Return what to look at if a curve falls."""
    return (
        "who else used the network, and what slows down over time (heat, pause frames, retransmissions); run it again"
    )


def different_halves(low_gb_s: float, slow: Half, size_bytes: int, share: float, high_gb_s: float, fast: Half) -> str:
    """Return that both halves of a row differ."""
    return (
        f"both halves of a row differ: busbw {number(low_gb_s)} GB/s {slow} at {message_size(size_bytes)} is "
        f"{percent(share)} of the {number(high_gb_s)} GB/s {fast}"
    )


def look_at_halves() -> str:
    """Return what to look at if both halves differ."""
    return "who else used the network; run it again: both halves move the same bytes, one after the other"


def ranks_out_of_order() -> str:
    """Return that ranks are not placed as in the published runs."""
    return "its ranks are not placed node after node, so more crosses the network than in the published runs"


def no_floor_of_nodes() -> str:
    """Return that no source has such nodes."""
    return "sources only give a floor for nodes with NICs, and with NVLink between four or more GPUs"


def no_floor_of_gpus(used: int, gpus: int) -> str:
    """Return that no source has a run of some GPUs of a node."""
    return f"no source gives a floor for {used} of {gpus} GPUs per node"


def no_floor_of_many_nodes() -> str:
    """Return that no source has a run of so many nodes."""
    return f"no source gives a floor for more than {GPU_FLOOR_NODES.value:g} nodes"


def no_floor_of_network() -> str:
    """Return that no source has such a network."""
    return "no source gives a floor for such a network"


def no_floor_of_collective(collective: str, without_switch: bool) -> str:
    """Return that no source has a collective; ``without_switch``: only not for GPUs without a switch between them."""
    where = " within nodes whose GPUs may be connected without an NVSwitch" if without_switch else ""
    return f"no source gives a floor for {collective}{where}"


def unknown_parts() -> str:
    """Return that the lowest bound is not known."""
    return "the rates of the parts that carry it are not known"


def unknown_nics() -> str:
    """Return that it is not known which NICs the nodes have."""
    return "the NICs of its nodes are not given, or their rate is not known (nics= and link= of --nodes-have)"


def no_long_message() -> str:
    """Return that the floor is for longer messages than were measured."""
    return f"no size of {message_size(int(GPU_FLOOR_FROM.value))} or more was measured: the floor is for these"
