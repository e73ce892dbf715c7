"""Every message of the table is known as a failure, anywhere in a line, and every stack has its own messages."""

import re

import pytest

from railyard.parsers import PARSERS, failure_lines
from railyard.parsers.failure_lines import FAILURES
from railyard.parsers.lines import is_failure
from railyard.parsers.wrong_lines import with_wrong_lines
from railyard.stacks.model import STACKS
from tests.parsers.samples import MADE, samples

MESSAGES = [pytest.param(text, id=text[:50]) for failure in FAILURES for text in failure.examples]
OUTPUTS = {tool: text for tool, name, text in samples() if tool in PARSERS and (MADE / name).is_file()}
HEALTHY = (
    "[node2:2290964] 3 more processes have sent help message help-mpi-btl-openib.txt / no device params found",
    "[1753684564.462789] [node2:2290969:0]     ucp_context.c:1774 UCX  WARN  UCP version is incompatible",
    "libibverbs: Warning: couldn't open config directory '/etc/libibverbs.d'.",
    "WARNING: No preset parameters were found for the device that Open MPI detected:",
    "node1:2304:2340 [1] NCCL INFO Connected all trees",
    "mxm was unable to be used, but this is only a warning",
    "CMA: no RDMA devices found",
    "slurmstepd-node001: error: no task list created!",
    "slurmstepd: error: jobacct_gather_stat_all_task: no task list created!",
    "[2026-11-30T10:03:02.908] error: no task list created!",
)


@pytest.mark.parametrize("text", MESSAGES)
def test_each_message_is_a_failure(text: str) -> None:
    assert is_failure(text)


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: failure.who)
def test_each_program_has_an_example_of_its_own_pattern(failure: failure_lines.Failure) -> None:
    assert any(re.search(failure.pattern, text) for text in failure.examples)


def test_every_mpi_stack_has_messages_of_its_own() -> None:
    who = {failure.who for failure in FAILURES}
    # The MPI on which they are based prints it.
    based = {"openmpi": ("hpcx", "fujitsumpi", "spectrummpi"), "mpich": ("mvapich", "parastation")}
    beside = {name: base for base, names in based.items() for name in names}
    missing = [name for name, stack in STACKS.items() if stack.is_mpi and beside.get(name, name) not in who]
    assert missing == []


@pytest.mark.parametrize("text", HEALTHY)
def test_a_warning_is_none(text: str) -> None:
    assert not is_failure(text)


def test_slurms_accounting_of_a_step_that_is_over_hides_no_error_beside_it() -> None:
    assert is_failure("slurmstepd-node001: error: no task list created! CANCELLED AT 2026-11-30T10:03:02")
    assert is_failure("slurmstepd-node001: error: task list created by nobody")


@pytest.mark.parametrize("tool", sorted(OUTPUTS))
def test_every_parser_finds_every_message_behind_a_whole_output(tool: str) -> None:
    for failure in FAILURES:
        for text in failure.examples:
            output = f"{OUTPUTS[tool]}\n{text}\n"
            parsed = with_wrong_lines(PARSERS[tool](output), output)
            assert any(text.strip()[:40] in found.text for found in parsed.failures), text


@pytest.mark.parametrize("tool", sorted(OUTPUTS))
def test_a_value_that_is_not_finite_is_named_in_every_tools_output(tool: str) -> None:
    text = OUTPUTS[tool]
    whole = with_wrong_lines(PARSERS[tool](text), text)
    assert not [failure for failure in whole.failures if failure.text.startswith("not finite")]
    rows = [
        found
        for found in re.finditer(r"(?<![\w.:-])[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?(?![\w.:])", text)
        if found.start()
    ]
    last = rows[-1]
    bad = f"{text[: last.start()]}-nan{text[last.end() :]}"
    wrong = with_wrong_lines(PARSERS[tool](bad), bad)
    assert [failure.text.split(":")[0] for failure in wrong.failures if "-nan" in failure.text] == ["not finite"]
