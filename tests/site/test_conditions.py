"""Conditions: a source's words and a node's facts get the same terms, and only known values are compared."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from railyard.job.node_facts import DEVICE_FACTS, FACTS
from railyard.site.conditions import (
    CONDITIONS,
    NodeFactsShown,
    document,
    may_cost,
    mpi_of,
    read,
    shown_values,
    unlike_values,
    why_unreadable,
)
from railyard.site.references.load import load_references
from railyard.site.systems.load import load_systems
from railyard.stacks.model import STACKS

ROOT = Path(__file__).resolve().parents[2]
XEON = "Intel(R) Xeon(R) CPU E5-2660 v3 @ 2.60GHz"
HASWELL = {"processor": XEON, "sockets": "2", "numa_nodes_per_socket": "1"}

#: A condition, what a source states, facts of a node, and the difference.
NODE_CASES: list[tuple[str, str, Mapping[str, str], tuple[str, ...]]] = [
    ("turbo", "enabled", {"turbo": "off"}, ("off",)),
    ("turbo", "enabled", {"turbo": "on"}, ()),
    ("turbo", "disabled", {"turbo": "on"}, ("on",)),
    ("turbo", "enabled", {}, ()),
    ("smt", "disabled", {"smt": "on"}, ("on",)),
    ("smt", "disabled", {"smt": "forceoff"}, ()),
    ("smt", "disabled", {"smt": "notsupported"}, ()),
    ("smt", "disabled", {"smt": "notimplemented"}, ()),
    ("c-states", "disabled", {"c_states": "POLL C1 C1E C6"}, ("on",)),
    ("c-states", "disabled", {"c_states": "POLL C1 C1E"}, ()),
    ("c-states", "POLL C1 C1E C6", {"c_states": "POLL C1 C2"}, ()),
    ("c_states", "POLL C1 C1E C6", {"c_states": "POLL C1"}, ("off",)),
    ("c-states", "disabled", {"c_states": "POLL haltpoll"}, ()),
    ("governor", "performance", {"governor": "powersave"}, ("powersave",)),
    ("numa_nodes_per_socket", "4", {"numa_nodes_per_socket": "1"}, ("1",)),
    ("node-interleave", "disabled", {"sockets": "2", "numa_nodes_per_socket": "0"}, ("on",)),
    ("node-interleave", "disabled", {"sockets": "2", "numa_nodes_per_socket": "1"}, ()),
    ("node-interleave", "enabled", {"sockets": "1", "numa_nodes_per_socket": "1"}, ()),
    ("snoop-mode", "cluster on die", HASWELL, ("early or home or directory",)),
    ("snoop-mode", "COD", {**HASWELL, "numa_nodes_per_socket": "2"}, ()),
    ("snoop-mode", "early or home", {**HASWELL, "numa_nodes_per_socket": "2"}, ("cluster on die",)),
    ("snoop-mode", "home snoop", HASWELL, ()),
    ("snoop-mode", "early, home or cluster on die", HASWELL, ()),
    ("snoop-mode", "cluster on die", {**HASWELL, "processor": "AMD EPYC 7763 64-Core Processor"}, ()),
    ("profile", "performance optimized", HASWELL, ()),
    ("processor", "Xeon E5-2660 v3", HASWELL, ()),
    ("processor", "EPYC 7763", {"processor": "AMD EPYC 7763 64-Core Processor"}, ()),
    ("processor", "Xeon E5-2660 v4", HASWELL, (XEON,)),
    ("processor", "EPYC 9354: 32 cores or EPYC 9355: 32 cores", {"processor": "EPYC 9355: 32 cores"}, ()),
    ("clock", "2.6 GHz", HASWELL, ()),
    ("clock", "2.60GHz", {**HASWELL, "base_frequency_khz": "2200000"}, ("2.2 GHz",)),
    ("clock", "2.6 GHz", {"processor": "AMD EPYC 7763 64-Core Processor"}, ()),
    ("memory", "8 x 16 GB at 2133 MHz", {"memory": "131746204 kB"}, ()),
    ("memory", "128 GB", {"memory": "65807848 kB"}, ("63 GiB",)),
    ("memory", "128 GB", {"memory": "263921504 kB"}, ("252 GiB",)),
    ("memory", "252 GiB", {"memory": "263921504 kB"}, ()),
    ("operating-system", "RHEL 8", {"operating_system": "Red Hat Enterprise Linux 8.9 (Ootpa)"}, ()),
    ("operating-system", "CentOS 7.6", {"operating_system": "CentOS Linux 7 (Core)"}, ()),
    (
        *("operating-system", "Red Hat Enterprise Linux 6.6"),
        *({"operating_system": "Rocky Linux 9.4 (Blue Onyx)"}, ("Rocky Linux 9.4",)),
    ),
    (
        *("operating-system", "Red Hat Enterprise Linux 6.6"),
        *({"operating_system": "Red Hat Enterprise Linux 6.5"}, ("Red Hat Enterprise Linux 6.5",)),
    ),
    ("kernel", "6.1.0-17-amd64", {"kernel": "6.1.0-18-amd64"}, ("6.1.0-18-amd64",)),
    ("bios_version", "2.7.3 or 2.7.4", {"bios_version": "2.7.4"}, ()),
    ("bios_version", "2.7.3", {"bios_version": "2.8"}, ("2.8",)),
]
#: The same for facts of rails.
RAIL_CASES: list[tuple[str, str, tuple[Mapping[str, str], ...], tuple[str, ...]]] = [
    ("mtu", "9000 B", ({"mtu": "9000"}, {"mtu": "1500"}), ("1500 B",)),
    ("mtu", "1500", ({"mtu": "1500"},), ()),
    ("mtu", "4200 B", ({"interface_mtu": "1500"},), ("1500 B",)),
    ("mtu", "4092 B", ({"rate": "100 Gb/sec (4X EDR)"},), ()),
    ("firmware", "12.0012.1100 (PSID MT_2180110032)", ({"firmware": "12.12.1100"},), ()),
    ("firmware", "12.0012.1100 (PSID MT_2180110032)", ({"firmware": "12.28.2006"},), ("12.28.2006",)),
    ("firmware", "20.31.1014 | 20.31.2006", ({"firmware": "20.31.2006"},), ()),
    ("firmware", "the newest", ({"firmware": "12.28.2006"},), ()),
    ("driver", "Mellanox OFED 5.8", ({"driver": "mlx5_core", "driver_version": "5.8-1.1.2"},), ()),
    (
        *("driver", "Mellanox OFED 3.1"),
        *(({"driver": "mlx5_core", "driver_version": "5.8-1.1.2"},), ("mlx5_core 5.8-1.1.2",)),
    ),
    ("driver", "Mellanox OFED 3.1", ({"driver": "mlx5_core", "driver_version": "5.0-0"},), ()),
    ("driver", "Mellanox OFED 3.1", ({"driver": "mlx5_core"},), ()),
    ("driver", "mlx5_core 5.8-1.1.2", ({"driver": "mlx5_core", "driver_version": "23.10-1"},), ("mlx5_core 23.10-1",)),
    ("driver", "mlx5_core 5.8-1.1.2", ({"driver": "mlx5_core"},), ()),
    ("driver", "i40e", ({"driver": "ice"},), ("ice",)),
]


@pytest.mark.parametrize(("name", "stated", "facts", "other"), NODE_CASES)
def test_a_nodes_fact_is_put_into_the_words_of_a_source(
    name: str, stated: str, facts: Mapping[str, str], other: tuple[str, ...]
) -> None:
    assert why_unreadable(name, stated) is None
    assert unlike_values(name, stated, NodeFactsShown(facts)) == other


@pytest.mark.parametrize(("name", "stated", "rails", "other"), RAIL_CASES)
def test_a_rails_fact_is_put_into_the_words_of_a_source(
    name: str, stated: str, rails: tuple[Mapping[str, str], ...], other: tuple[str, ...]
) -> None:
    assert unlike_values(name, stated, NodeFactsShown({}, rails)) == other


@pytest.mark.parametrize(
    ("stated", "ran", "other"),
    [
        ("Open MPI 1.10.3 with MXM", "Open MPI 4.1.5", ("Open MPI 4.1.5",)),
        ("mpirun (Open MPI) 4.1.5", "Open MPI 4.1.5", ()),
        ("Intel(R) MPI Library for Linux* OS, Version 2021.18", "Intel MPI 2021.4", ("Intel MPI 2021.4",)),
        ("HPC-X, version not printed", "HPC-X 2.25", ()),
        ("HPC-X, version not printed", "Intel MPI 2021.4", ("Intel MPI 2021.4",)),
        ("mpirun (Open MPI) 4.1.5", "HPC-X", ()),
        ("cray-mpich/8.1.28", "Cray MPICH", ()),
        ("Cray MPICH 8.1.25", "MPICH 4.1.2", ("MPICH 4.1.2",)),
        ("some library", "Open MPI 4.1.5", ()),
        ("mpirun (Open MPI) 4.1.5 (3 runs); mpirun (Open MPI) 4.1.6 (2 runs)", "Open MPI 4.1.6", ()),
    ],
)
def test_the_library_of_a_run_is_compared_as_far_as_both_are_named(
    stated: str, ran: str, other: tuple[str, ...]
) -> None:
    assert unlike_values("mpi", stated, NodeFactsShown({}, (), {"mpi": ran})) == other


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("turbo", "sometimes"),
        ("smt", "2 threads"),
        ("c-states", "POLL, haltpoll"),
        ("governor", "fast"),
        ("numa-nodes-per-socket", "two"),
        ("snoop-mode", "early or late"),
        ("profile", "mine"),
        ("clock", "2600"),
        ("memory", "much"),
        ("operating-system", "Linux"),
        ("kernel", "new"),
        ("mtu", "jumbo"),
    ],
)
def test_a_value_that_the_table_does_not_know_is_refused_and_never_compared(name: str, text: str) -> None:
    why = why_unreadable(name, text)
    condition = CONDITIONS[name]
    assert why == f'{name}: found "{text}", expected {condition.expected}; put into note what these words cannot say'
    assert read(name, text) == ()
    assert (
        unlike_values(
            name, text, NodeFactsShown({"turbo": "on", "smt": "on", "governor": "powersave", "kernel": "6.1.0"})
        )
        == ()
    )


NODES = [
    {
        **{"turbo": "on", "smt": "off", "c_states": "POLL C1 C1E C6", "governor": "performance", "kernel": "6.1.0-17"},
        **{"numa_nodes_per_socket": "2", "sockets": "2", "processor": XEON, "memory": "263921504 kB"},
        **{"operating_system": "SUSE Linux Enterprise Server 15 SP4", "bios_version": "1.2, build 3"},
    },
    {
        **{"turbo": "off", "smt": "notsupported", "c_states": "POLL haltpoll", "governor": "interactive"},
        **{"numa_nodes_per_socket": "0", "sockets": "2", "processor": "EPYC 9354: 32 cores", "memory": "8000 kB"},
        **{"operating_system": "Debian GNU/Linux 12 (bookworm)", "base_frequency_khz": "3250000"},
    },
]


@pytest.mark.parametrize("facts", NODES)
def test_what_a_node_shows_can_be_stated_and_is_alike(facts: Mapping[str, str]) -> None:
    rail = {"mtu": "9000", "firmware": "20.31.1014", "driver": "mlx5_core", "driver_version": "5.8-1.1.2"}
    seen = NodeFactsShown(facts, (rail, {**rail, "mtu": "1500"}), {"mpi": "Open MPI 4.1.5", "hops": "1"})
    told = 0
    for name, condition in CONDITIONS.items():
        values = shown_values(name, seen)
        text = (" | " if condition.is_field else " or ").join(values)
        if values:
            told += 1
            assert condition.is_field or why_unreadable(name, text) is None
            assert unlike_values(name, text, seen) == (), name
    assert told >= 13


@pytest.mark.parametrize("stack", [name for name, stack in STACKS.items() if stack.is_mpi])
def test_each_mpi_library_of_the_stacks_is_known_by_its_name(stack: str) -> None:
    said = mpi_of(stack, "9.8.7")
    assert said is not None
    assert ("9.8.7" in said) == (stack != "hpcx")
    assert unlike_values("mpi", said, NodeFactsShown({}, (), {"mpi": said})) == ()


def test_what_may_cost_is_the_worse_of_two_only() -> None:
    assert may_cost("turbo", "enabled", "off")
    assert not may_cost("turbo", "disabled", "on")
    assert may_cost("c-states", "disabled", "on")
    assert not may_cost("c-states", "enabled", "off")
    assert may_cost("mtu", "9000 B", "1500 B")
    assert not may_cost("mtu", "1500 B", "9000 B")
    assert may_cost("clock", "2.6 GHz", "2.2 GHz")
    assert not may_cost("memory", "128 GB", "252 GiB")


def test_every_condition_of_every_reference_file_can_be_read() -> None:
    for system in load_systems(ROOT / "systems").values():
        file = ROOT / "references" / f"{system.system}.yaml"
        if not file.is_file():
            continue
        found = load_references(file, system)
        sources = [each.source for each in found.entries]
        sources += [each.source for each in found.relations]
        sources += [each.source for each in found.facts]
        for source in sources:
            assert [why_unreadable(name, text) for name, text in source.conditions.items()] == [None] * len(
                source.conditions
            ), file.name


def test_the_table_reads_only_facts_that_a_node_says_of_itself() -> None:
    class FactSpy(dict[str, str]):
        """Facts that note which names were asked for."""

        def __init__(self) -> None:
            self.names: set[str] = set()

        def get(self, name: str, default: object = None) -> object:  # type: ignore[override]
            self.names.add(name)
            return default

        def __contains__(self, name: object) -> bool:
            self.names.add(str(name))
            return False

    facts, rail = FactSpy(), FactSpy()
    for condition in CONDITIONS.values():
        assert shown_values(condition.name, NodeFactsShown(facts, (rail,))) == ()
    assert facts.names <= set(FACTS)
    assert rail.names <= set(DEVICE_FACTS)
    assert {"turbo", "smt", "operating_system", "base_frequency_khz"} <= facts.names


def test_the_documentation_has_the_table() -> None:
    assert f"\n\n{document()}\n" in (ROOT / "docs" / "reference" / "conditions.md").read_text(encoding="utf-8")
