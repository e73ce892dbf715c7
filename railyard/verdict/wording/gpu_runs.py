"""The sentences about runs of collectives between GPUs: which GPUs took part, pairs of nodes, and rails one by one."""

from collections.abc import Sequence

from railyard.base.wording import count_of, listing, number
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


def launcher_bug() -> str:
    """Return that a step never began."""
    return "a bug of the launcher (mpi/pmi2) ended its start twice, so it says nothing about a network"


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
