"""Every rehearsal of tests/sites (in planted): no healthy system fails, and each planted fault is named.

Skipped, with the reason, if the system's scheduler is not installed (Slurm: `make needs SLURM=1`, Grid Engine: `make
needs SGE=1`; Flux and OpenPBS must be built) or namespaces are not permitted. Whole matrices with the extended tests
only run at night (`sh ci/nightly.sh`). One rehearsal with a fault is part of `make test`.
"""

import os

import pytest
from _pytest.mark import ParameterSet

from tests.e2e.conftest import VirtualSite, rehearse, suspects
from tests.e2e.rehearsals import RehearsalRow, all_rehearsals

# It does not measure, but waits for a measurement.
pytestmark = [pytest.mark.e2e, pytest.mark.measures]

#: What `make test` has of them, beside the healthy rehearsal of test_rehearse.py: one test on two nodes, soon over.
EVERYDAY = ("ndr", "fallback=tcp")


def _case(one: RehearsalRow) -> ParameterSet:
    marks = () if (one.system, one.fault) == EVERYDAY else pytest.mark.full
    return pytest.param(one, marks=marks, id=" ".join(one.options[1:]))


HEALTHY = [_case(one) for one in all_rehearsals() if not one.fault]
PLANTED = [_case(one) for one in all_rehearsals() if one.fault]


@pytest.mark.parametrize("one", HEALTHY)
def test_a_healthy_system_has_no_false_failure(rehearsed_site: VirtualSite, one: RehearsalRow) -> None:
    if one.is_whole and not os.environ.get("RAILYARD_NIGHTLY"):
        pytest.skip("a whole extended matrix runs at night: sh ci/nightly.sh")
    ran, records = rehearse(rehearsed_site, *one.options)
    assert ran.lines[-1] == "nothing was planted: no test failed"
    assert ran.code == 0
    assert {record.found.state for record in records} <= {"pass", "report-only"}
    assert len(records) == one.tests


@pytest.mark.parametrize("one", PLANTED)
def test_a_planted_fault_is_named_and_nobody_else(rehearsed_site: VirtualSite, one: RehearsalRow) -> None:
    ran, records = rehearse(rehearsed_site, *one.options)
    assert ran.code == 1
    failed = [record for record in records if record.fails]
    sentences = [
        words
        for record in failed
        for words in (record.found.verdict.text, *(s.reason for s in record.found.verdict.suspects))
    ]
    assert any(one.says in sentence for sentence in sentences), sentences
    assert {each for record in failed for each in suspects(record)} == one.blamed
    (found,) = (line for line in ran.lines if line.startswith(f"planted {one.fault}: "))
    if not one.nobody:
        assert ": named by " in found
