"""The groups in which a check declares what differs from most checks, and how few names its base has."""

import copy
import itertools
from dataclasses import fields

import pytest
import reframe as rfm

from railyard.rfm.checks.base import InterconnectCheck
from railyard.rfm.checks.declaration import Declaration, many_pairs
from railyard.rfm.checks.groups import GROUPS, OLD_NAMES, Accepts, Layout, Outputs, Probes, Request, Start
from railyard.rfm.checks.microbench import OsuCheck
from railyard.rfm.versions import Plugin

#: Whoever writes a check of their own reads all of them: a name more goes into a group.
MOST = 25


def values_of(*classes: type) -> set[str]:
    """Return the public values that classes declare: variables, parameters and groups, not what they compute."""
    names: set[str] = set()
    for each in classes:
        names |= {*each._rfm_var_space.vars, *each._rfm_param_space.params}  # type: ignore[attr-defined]
        names |= {*vars(each).get("__annotations__", ())}
        names |= {name for name, value in vars(each).items() if not callable(value) and not hasattr(value, "__get__")}
    return {name for name in names if not name.startswith("_")}


def test_the_base_of_all_checks_declares_few_values() -> None:
    found = values_of(Declaration, InterconnectCheck)
    own = {name for name in found if not hasattr(rfm.RunOnlyRegressionTest, name)}
    assert len(own) <= MOST, sorted(own)
    assert {*GROUPS, "tool", "benchmark", "parse", "rails", "runner", "num_nodes", "remarks"} <= own


def test_a_value_more_in_the_base_would_be_counted() -> None:
    class LargerPlugin(Plugin):  # type: ignore[misc]
        found = rfm.core.builtins.variable(int, value=0)
        group = Layout()
        typed: int

        def method(self) -> None: ...

    assert values_of(LargerPlugin) == {"found", "group", "typed"}


def test_a_class_gives_only_what_differs_from_its_base() -> None:
    class Own(OsuCheck):
        probes = Probes(other_way_seen_by="all")
        start = Start(time_limit="app")

    class DerivedCheck(Own):
        start = Start(program_per_benchmark=False)

    assert Own.probes.ping_pong == "osu/osu_latency" and Own.probes.other_way_seen_by == "all"
    assert (Own.start.program_per_benchmark, Own.start.time_limit) == (True, "app")
    assert (DerivedCheck.start.program_per_benchmark, DerivedCheck.start.time_limit) == (False, "app")
    assert DerivedCheck.probes == Own.probes and OsuCheck.probes.other_way_seen_by == ""


def test_groups_of_several_bases_are_put_together_in_the_order_of_python() -> None:
    class Mixin(Plugin):  # type: ignore[misc]
        accepts = Accepts(ranks=True, fewest_nodes=8)

    class Own(InterconnectCheck):
        accepts = Accepts(even_nodes=True, fewest_nodes=4)

    class Both(Mixin, Own):
        pass

    assert Both.accepts == Accepts(ranks=True, fewest_nodes=8, even_nodes=True)


def test_a_property_may_return_a_group_and_a_class_may_replace_it() -> None:
    class ComputedCheck(InterconnectCheck):
        @property
        def outputs(self) -> Outputs:  # type: ignore[override]
            return Outputs(more=("late.out",))

    class FixedCheck(ComputedCheck):
        outputs = Outputs(file="out.txt")

    assert isinstance(vars(ComputedCheck)["outputs"], property) and FixedCheck.outputs == Outputs(file="out.txt")


def test_many_pairs_keeps_the_other_fields_of_the_layout() -> None:
    class Own(InterconnectCheck):
        layout = Layout(every_core=True)

    assert many_pairs(Own).layout == Layout(every_core=True, pair_per_rail=True)


@pytest.mark.parametrize("group", [*(kind(**{fields(kind)[0].name: 1}) for kind in GROUPS.values()), Request(nodes=3)])
def test_reframe_can_copy_a_group(group: object) -> None:
    assert copy.deepcopy(group) == group


def test_every_field_of_a_group_has_an_old_name_that_leads_to_it() -> None:
    of = {**GROUPS, "request": Request}
    every = itertools.chain.from_iterable([f"{name}.{each.name}" for each in fields(of[name])] for name in of)
    assert sorted(OLD_NAMES.values()) == sorted(every)
