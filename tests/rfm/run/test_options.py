"""ReFrame's options are read as ReFrame reads them, and those that select what the system lacks are refused."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from railyard.base.errors import RailyardError
from railyard.rfm.run.options import (
    OPTIONAL,
    PLAIN,
    VALUED,
    apply_settings,
    everyday_words,
    leaves_out_extended,
    read,
    refuse_unjudged,
    refuse_unknown,
    refuse_untaken,
)
from railyard.site.matrix import Need, requested_needs
from railyard.site.systems.load import load_system
from railyard.site.systems.measure import Measure, Takes
from railyard.site.systems.model import System
from railyard.site.test_id import TestId, of_name


@pytest.mark.parametrize(
    ("line", "name", "prgenv", "setvar"),
    [
        ("", [], [], []),
        ("-r -nImb --name=Osu -n Npb --verbose -p mpich", ["Imb", "Osu", "Npb"], ["mpich"], []),
        ("-J account=x --na Imb --prg openmpi -S full=1 -Sx=2 --setvar Imb.y=3", ["Imb"], ["openmpi"],
         ["full=1", "x=2", "Imb.y=3"]),
        ("-nImb -p", [], [], []),  # ReFrame says that -p lacks its value
    ],
)  # fmt: skip
def test_options_are_read_in_all_forms(line: str, name: list[str], prgenv: list[str], setvar: list[str]) -> None:
    words = read(line.split())
    assert (words.name, words.prgenv, words.setvar) == (name, prgenv, setvar)


def test_the_options_are_those_of_reframe_and_the_beginning_of_none_is_another_of_its_own() -> None:
    from reframe.frontend import cli

    theirs = set(re.findall(r"'(--?[A-Za-z][a-z-]*)'", Path(cli.__file__).read_text(encoding="utf-8")))
    ours = {name for names in (*VALUED, *OPTIONAL, *PLAIN) for name in names.split()}
    assert ours - theirs == set()
    assert {
        word for word in theirs - ours if any(own.startswith(word) for own in ours if word.startswith("--"))
    } == set()


@pytest.fixture(scope="module")
def virtual() -> System:
    """Return the virtual cluster's system: hsn has two rails, eth one."""
    return load_system(Path(__file__).parents[3] / "systems" / "virtual.yaml")


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("-p", "mpich"),
        ("-p", "m.*"),
        ("--prgenv", "intelmpi", "-n", "ImbUniband%rails=2$"),
        ("-n", "%rails=[12]", "-n", "%rails=1|%rails=2"),
        ("-n", "%rails=1"),
        ("-S", "full=1", "-S", "ImbUniband.window=8", "-P", "repetitions:2,4", "-P", "rails=1,2"),
        ("-P", "policy=round-robin", "-P", "ImbUniband.policy=single,striping,default"),
        ("-n", "%policy=round.*|%policy=(striping|single)"),
    ],
)  # fmt: skip
def test_what_there_is_may_be_selected(virtual: System, options: Sequence[str]) -> None:
    refuse_unknown(read(options), virtual)


LATENCY = Need("OsuLatency", "osu", "osu/osu_latency", 2)
ALLREDUCE = Need("OsuAllreduce", "osu", "osu/osu_allreduce", 4, ranks=4, takes=Takes(4, fewest=2, ranks=True))
HPL = Need("Hpl", "hpl", "hpl/hpl", 2, all_nodes=True, takes=Takes(fewest=2, ranks=True))


def promised_tests(*checks: str) -> list[TestId]:
    return [of_name(f"{check} %rails=1", "0a1b2c3d", "virtual", "hsn", "mpich") for check in checks]


@pytest.mark.parametrize(
    ("options", "checks", "sentence"),
    [
        (
            ("-S", "num_nodes=16"),
            ("OsuLatency", "Hpl"),
            "-S num_nodes=16: OsuLatency does not take it, expected 2, which it always has; it works with Hpl "
            "and OsuAllreduce",
        ),
        (
            ("-S", "OsuLatency.ranks_per_node=2"),
            ("OsuLatency",),
            "-S OsuLatency.ranks_per_node=2: OsuLatency does not take it, expected none: its number of ranks per "
            "node is fixed; it works with no check",
        ),
        (("-S", "num_nodes=16"), ("Hpl", "OsuAllreduce"), None),
        (("-S", "Hpl.num_nodes=16", "-S", "full=1"), ("OsuLatency", "Hpl"), None),
    ],
)
def test_a_number_that_a_selected_check_does_not_take_is_refused(
    options: Sequence[str], checks: Sequence[str], sentence: str | None
) -> None:
    needs = (LATENCY, ALLREDUCE, HPL)
    if sentence is None:
        refuse_untaken(read(options), promised_tests(*checks), needs)
        return
    with pytest.raises(RailyardError) as caught:
        refuse_untaken(read(options), promised_tests(*checks), needs)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("options", "checks", "sentence"),
    [
        (
            ("-S", "Hpl.window=64"),
            ("Hpl", "OsuLatency"),
            "-S Hpl.window=64: found a variable that does not change Hpl, expected one of theirs: block, budget_s, "
            "grid, order, placement, share, size, threads and use_launcher",
        ),
        (
            ("-S", "window=64"),
            ("Hpl", "OsuLatency"),
            "-S window=64: found a variable that does not change Hpl and OsuLatency, expected one of theirs: block, "
            "budget_s, can_validate, full, grid, largest, order, placement, reduces, repetitions, share, size, "
            "smallest, threads, use_launcher and warm_up",
        ),
        (
            ("-S", "full=1"),
            ("WriteBandwidth",),
            "-S full=1: found a variable that does not change WriteBandwidth, expected one of theirs: placement, "
            "queue_pairs and repetitions",
        ),
        # Others of a run take it.
        (("-S", "window=64"), ("Hpl", "OsuBandwidth"), None),
        (
            ("-S", "AllPairs.window=64", "-S", "Hpl.share=0.5", "-S", "TcpStream.largest=1024"),
            ("AllPairs", "Hpl"),
            None,
        ),
        # No test has it: that is another refusal.
        (("-S", "Hpl.window=64"), ("OsuBandwidth",), None),
    ],
)
def test_a_variable_that_changes_none_of_the_chosen_checks_is_refused(
    catalogue: tuple[Need, ...], options: Sequence[str], checks: Sequence[str], sentence: str | None
) -> None:
    if sentence is None:
        refuse_untaken(read(options), promised_tests(*checks), catalogue)
        return
    with pytest.raises(RailyardError) as caught:
        refuse_untaken(read(options), promised_tests(*checks), catalogue)
    assert str(caught.value) == sentence


@pytest.fixture(scope="module")
def catalogue() -> tuple[Need, ...]:
    """The requirements and options of the clone's checks."""
    from railyard.rfm.checks.catalogue import needs

    return needs(Path(__file__).parents[3] / "checks")


def test_needs_have_the_numbers_that_are_told_and_nothing_more_from_the_file(virtual: System) -> None:
    found = apply_settings(read(("-S", "num_nodes=3", "-S", "Hpl.ranks_per_node=2")), (LATENCY, ALLREDUCE, HPL))
    assert [(need.nodes, need.ranks, need.benchmark) for need in found] == [
        (2, 2, "osu/osu_latency"),
        (3, 3, "osu/osu_allreduce"),
        (3, 6, "hpl/hpl/3-nodes"),
    ]
    measure = Measure.model_validate({"benchmarks": {"hpl": {"nodes": 2}, "osu/osu_allreduce": {"nodes": 2}}})
    system = virtual.model_copy(update={"measure": measure})
    assert [need.nodes for need in requested_needs(system, found)] == [2, 3, 3]


STACK = '-p: found "mpch", expected a stack of virtual; did you mean "mpich"?'


@pytest.mark.parametrize(
    ("options", "fabric", "sentence"),
    [
        (("-p", "mpch"), None, STACK),
        (("-pmpch",), None, STACK),
        (("--prgenv", "mpch"), None, STACK),
        (("-p", "mpich", "--prgenv=mpch"), None, STACK),
        (
            ("-P", "policy=stripping"),
            None,
            '-P policy=stripping: found "stripping", expected a rail policy that a stack of virtual has; did you mean '
            '"striping"?',
        ),
        (
            ("-P", "ImbUniband.policy=default,striping-8K"),
            None,
            '-P ImbUniband.policy=default,striping-8K: found "striping-8K", expected a rail policy that a stack of '
            'virtual has; did you mean "striping"?',
        ),
        (
            ("-P", "policy=striping"),
            "eth",
            '-P policy=striping: found "striping", expected a rail policy that a stack of virtual:eth has; '
            "known: default, single",
        ),
        (
            ("-n", "Uniband.*%policy=striping"),
            None,
            "-n Uniband.*%policy=striping: found striping, which stacks of virtual use by default: no test has "
            "it in its name; choose it with -P policy=striping",
        ),
        (
            ("-n", "%rails=3"),
            None,
            "-n %rails=3: found 3 rails, expected 1 or 2: virtual has no tests for other numbers",
        ),
        (
            ("--name=x%rails=8",),
            None,
            "-n x%rails=8: found 8 rails, expected 1 or 2: virtual has no tests for other numbers",
        ),
        (
            ("-P", "policy=rail-2"),
            None,
            "-P policy=rail-2: found rail-2, but no fabric of virtual with that rail is measured over each rail alone, "
            "expected one that is; write each_rail: true into the fabric's entry",
        ),
        (
            ("-P", "policy=rail-3"),
            None,
            '-P policy=rail-3: found "rail-3", expected a rail policy that a stack of virtual has; known: default, '
            "nic-per-rank, round-robin, single, striping",
        ),
        (
            ("-S", "Hpl.num_nodes=5"),
            None,
            "-S Hpl.num_nodes=5: found 5 nodes, expected at most 4 nodes of virtual",
        ),
        (
            ("-S", "num_tasks=8"),
            None,
            "-S num_tasks=8: found a variable that no check takes, expected num_nodes and ranks_per_node",
        ),
        (("-n%rails=2",), "eth", "-n %rails=2: found 2 rails, expected 1: virtual:eth has no tests for other numbers"),
        (
            ("-P", "ImbUniband.rails=1,0"),
            None,
            "-P ImbUniband.rails=1,0: found 0 rails, expected 1 or 2: virtual has no tests for other numbers",
        ),
        *(
            (
                (option, "+mpich"),
                None,
                f'{option}: found "+mpich", expected a regular expression: nothing to repeat at position 0; if each '
                "character is meant write '\\+mpich'",
            )
            for option in ("-p", "-n", "-x", "-t", "-T")
        ),
    ],
)
def test_what_there_is_not_is_refused(
    virtual: System, options: Sequence[str], fabric: str | None, sentence: str
) -> None:
    with pytest.raises(RailyardError) as caught:
        refuse_unknown(read(options), virtual, fabric)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    "words",
    ["-l", "-L", "-lC", "-LT", "--list", "--list=C", "--list-detailed", "--list-detailed=C", "--list-tags",
     "--describe", "--dry-run", "--show-config", "--show-config=systems", "-n Uniband -l", "-r --dry-run",
     "--performance-compare=a/b/mean:/", "--performance-compare a/b/mean:/", "--list-stored-sessions",
     "--list-stored-sessions=now-1d:now", "--list-stored-testcases=now-1d:now/mean:/", "--ci-generate=ci.yml",
     "--describe-stored-sessions=now-1d:now", "--describe-stored-testcases=x", "--delete-stored-sessions=x"],
)  # fmt: skip
def test_options_that_list_measure_nothing(words: str) -> None:
    assert read(words.split()).lists


@pytest.mark.parametrize(
    "words",
    [
        "",
        "-r",
        "-n Uniband",
        "-S full=1",
        "-p mpich -t x",
        "--listless",
        "-P rails=1",
        "--performance-report",
        "--restore-session",
        "--ci",
    ],
)
def test_other_options_measure(words: str) -> None:
    assert not read(words.split()).lists


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("--skip-sanity-check", "--skip-sanity-check"),
        ("--skip-performance-check", "--skip-performance-check"),
        ("--skip-sanity", "--skip-sanity-check"),
        ("--skip-perf", "--skip-performance-check"),
    ],
)
def test_what_switches_verdicts_off_is_refused_its_beginning_too(word: str, meant: str) -> None:
    with pytest.raises(RailyardError) as caught:
        refuse_unjudged(read(["-n", "Uniband", word]))
    assert str(caught.value) == (
        f"{meant}: found an option that switches verdicts off, expected every test to be judged; leave it out"
    )


@pytest.mark.parametrize("word", ["--skip-system-check", "--skip-prgenv-check", "-n", "--", "-", "", "--strict"])
def test_other_options_are_let_through(word: str) -> None:
    refuse_unjudged(read([word]))


@pytest.mark.parametrize(
    "options",
    [[], ["-p", "mpich"], ["-P", "rails=2"], ["-S", "full=1"], ["-x", "ImbBiband"], ["--prgenv=openmpi"], ["-T", "no"]],
)
def test_a_run_that_names_no_test_leaves_the_extended_ones_out(virtual: System, options: list[str]) -> None:
    assert leaves_out_extended(virtual, read(options), extended=False)


@pytest.mark.parametrize(
    "options",
    [["-n", "Imb"], ["-nImb"], ["--name=Imb"], ["-t", "extended"], ["-textended"], ["--tag", "osu"], ["-E", "has_tag"],
     ["--restore-session=x.json", "--failed"]],
)  # fmt: skip
def test_a_run_that_names_tests_has_those_that_it_names(virtual: System, options: list[str]) -> None:
    assert not leaves_out_extended(virtual, read(options), extended=False)


def test_extended_has_all(virtual: System) -> None:
    assert not leaves_out_extended(virtual, read([]), extended=True)


def test_a_replay_has_all_since_it_costs_nothing(virtual: System) -> None:
    assert not leaves_out_extended(virtual.model_copy(update={"provider": "replay"}), read([]), extended=False)


def test_the_words_fit_that_one_tag_alone() -> None:
    assert everyday_words() == ["-T", "^extended$"]
