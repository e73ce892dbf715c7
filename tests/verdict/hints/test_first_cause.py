"""The first cause of a failure, by genuine words of each stack: what is quoted, and what it means."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from railyard.cli.main import main
from railyard.parsers import osu
from railyard.parsers.wrong_lines import with_wrong_lines
from railyard.verdict.assess import Assessment
from railyard.verdict.hints.first_cause import MESSAGES, document, first_cause
from railyard.verdict.stored.judge import judge
from railyard.verdict.stored.target import of_link
from tests.conftest import ROOT

RECORDED = Path(__file__).resolve().parents[2] / "recordings" / "failed"
Assess = Callable[..., Assessment]

#: File -> stack, line, what is quoted, what it means.
EXAMPLES = {
    "openmpi4.1.4-no-such-interface.err": (
        "openmpi", 2, "WARNING: An invalid value was given for btl_tcp_if_include. This",
        "hsn7 of btl_tcp_if_include, on vn1: Unknown interface name",
    ),
    "openmpi4.1.4-no-such-component.err": (
        "openmpi", 2, "A requested component was not found, or was unable to be opened. This",
        "pml/nosuch is not built into the Open MPI of vn1",
    ),
    "openmpi4.1.4-no-such-executable.err": (
        "openmpi", 2, "mpirun.openmpi was unable to launch the specified application as it could not access",
        "/nowhere/IMB is not there, or may not be executed",
    ),
    "openmpi4.1.4-not-enough-slots.err": (
        "openmpi", 2, "There are not enough slots available in the system to satisfy the 64",
        "the launcher was given fewer than 64 places for ranks",
    ),
    "mpich5.0.2-started-by-openmpi4.1.4.err": (
        "mpich", 5,
        "check_MPIR_CVAR_PMI_VERSION(167): Runtime environment uses unsupported PMI version PMIx. Aborting.",
        "the launcher speaks PMIx, which this library does not: it is another library's launcher",
    ),
    "mpich5.0.2-ucx-no-such-device.err": (
        "mpich", 1,
        "[1795446873.635521] [vn1:17594:0] ucp_context.c:1381 UCX WARN network device 'hsn7' is not available, please "
        "use one or more of: 'eth0'(tcp), 'lo'(tcp)",
        "UCX_NET_DEVICES names hsn7, which that node does not have",
    ),
    "mpich5.0.2-ucx-no-such-transport.err": (
        "mpich", 1, None, "UCX_TLS names nosuch, which this UCX does not have on that node",
    ),
    "mpich5.0.2-no-such-executable.err": (
        "mpich", 1, None, "/nowhere/x is not there, or may not be executed",
    ),
    "intelmpi2021.18-no-such-provider.err": (
        "intelmpi", 7,
        "find_provider(3064)..........: OFI fi_getinfo() failed (ofi_init.c:3064:find_provider:No data available)",
        "no provider of Libfabric fits what was asked for (I_MPI_OFI_PROVIDER, FI_PROVIDER)",
    ),
    "mpich5.0.2-rank-killed.err": (
        "mpich", 3, "= BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES",
        "a process on vn1: EXIT CODE: 9; an exit code of 9 or 11 there is mostly that signal",
    ),
    "intelmpi2021.18-rank-killed.err": (
        "intelmpi", 3, "= BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES",
        "a process on vn1: KILLED BY SIGNAL: 9; an exit code of 9 or 11 there is mostly that signal",
    ),
    "openmpi4.1.4-rank-killed.err": (
        "openmpi", 6,
        "mpirun.openmpi noticed that process rank 1 with PID 0 on node vn1 exited on signal 9 (Killed).",
        "rank 1 on vn1 was ended by signal 9",
    ),
    "iperf3.12-no-server.err": (
        "tcp", 1, "iperf3: error - unable to connect to server: Connection refused",
        "the client did not reach its server",
    ),
}  # fmt: skip


def recorded(name: str) -> str:
    return (RECORDED / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_first_cause_of_a_genuine_failure_is_quoted_with_what_it_means(name: str) -> None:
    stack, line, quoted, means = EXAMPLES[name]
    found = first_cause(stack, ("", recorded(name)))
    assert found is not None
    assert (found.text, found.line, found.means) == (1, line, means)
    if quoted is not None:
        assert found.quoted == quoted


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_message_of_another_library_is_not_a_stacks_own(name: str) -> None:
    stack, _, _, means = EXAMPLES[name]
    other = "mpich" if stack == "openmpi" else "openmpi"
    found = first_cause(other, (recorded(name),))
    assert found is None or found.means != means or stack == "tcp" or means.startswith("UCX")


def test_every_recording_of_a_failure_has_a_row_and_every_row_a_recording() -> None:
    rows = [row.split("\t")[0] for row in recorded("INDEX.tsv").splitlines()[1:]]
    assert sorted(rows) == sorted(path.name for path in RECORDED.iterdir() if path.name != "INDEX.tsv")
    assert set(EXAMPLES) <= set(rows)


#: Messages whose genuine examples are in public places (the corpus of INDEX.tsv) and not here.
PUBLIC = {"No available (?P<name>": "NPB-MZ with Open MPI 1.x over MX", "failed to modify QP": "perftest over RoCE"}


def test_every_message_has_a_genuine_example() -> None:
    texts = [recorded(name) for name in EXAMPLES] + [recorded("openmpi4.1.4-no-such-interface.err")]
    texts.append("IMB-MT: error while loading shared libraries: libiomp5.so: cannot open shared object file: No such\n")
    for message in MESSAGES:
        if not any(words in message.pattern for words in PUBLIC):
            assert any(re.search(message.pattern, text, re.MULTILINE) for text in texts), message.pattern


@pytest.mark.fault(
    "stack",
    "Open MPI was given an interface that does not exist",
    'line 2 of the error output: "WARNING: An invalid value was given for btl_tcp_if_include. This" '
    "(hsn7 of btl_tcp_if_include, on vn1: Unknown interface name)",
)
def test_a_failed_run_says_its_first_cause_and_not_the_error_that_came_of_it(assessed: Assess, said: str) -> None:
    found = assessed(stack="openmpi", exit_code=1, output="", stderr=recorded("openmpi4.1.4-no-such-interface.err"))
    assert f"the job exited 1, expected 0, {said}" in found.verdict.sentence


def test_a_run_that_is_sound_says_nothing_of_a_warning(assessed: Assess) -> None:
    found = assessed(stderr=recorded("mpich5.0.2-ucx-no-such-device.err").partition("\n")[0] + "\n")
    assert found.verdict.state == "pass"


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name,
            marks=pytest.mark.fault("stack", f"a stored error output alone: {name.rpartition('.')[0]}", means),
            id=name,
        )
        for name, (_, _, _, means) in EXAMPLES.items()
    ],
)
def test_a_stored_output_says_its_first_cause_too(name: str, capsys: pytest.CaptureFixture[str], said: str) -> None:
    _, line, quoted, _ = EXAMPLES[name]
    assert main(["judge", "--link", "eth-1", str(RECORDED / name)]) == 1
    out = capsys.readouterr().out
    assert f', line {line}: "{"" if quoted is None else quoted}' in out and f'" ({said})\n' in out


def test_a_table_with_a_failure_says_the_first_cause_and_a_sound_one_nothing_of_a_warning() -> None:
    warning, error = (
        recorded("mpich5.0.2-ucx-no-such-device.err").splitlines()[0],
        "Abort(1) on node 1 (rank 1 in comm 0)",
    )
    rows = "".join(f"{1 << n:<10}{(1 << n) / (0.3 + (1 << n) / 12100):>18.2f}\n" for n in range(23))
    text = f"{warning}\n# OSU MPI Bandwidth Test v7.4\n# Size      Bandwidth (MB/s)\n{rows}"
    target = of_link("ib-edr")
    (sound,) = judge(osu.parse(text), target, text=text)
    assert (sound.state, "UCX" in sound.sentence) == ("pass", False)
    text += f"{error}\n"
    (failed,) = judge(with_wrong_lines(osu.parse(text), text), target, text=text)
    assert failed.sentence.startswith("rule 1 (complete): the output itself reports 2 failures, line 1: ")
    assert "UCX_NET_DEVICES names hsn7, which that node does not have" in failed.sentence


def test_of_an_unknown_message_the_first_line_is_quoted_as_before(assessed: Assess) -> None:
    found = assessed(exit_code=1, output="", stderr="----\nsomething odd\n")
    assert 'the job exited 1, expected 0, "something odd"' in found.verdict.sentence


def test_the_page_has_the_table() -> None:
    assert f"\n\n{document()}\n" in (ROOT / "docs" / "verdicts.md").read_text(encoding="utf-8")
