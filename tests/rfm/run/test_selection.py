"""Options that select a stack or a number of rails which the system lacks are refused before ReFrame is asked."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from railyard.base.errors import RailyardError
from railyard.rfm.run.selection import refuse_unknown
from railyard.site.systems.load import load_system
from railyard.site.systems.model import System


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
        ("-p", "(broken"),
        ("--prgenv", "intelmpi", "-n", "ImbUniband%rails=2$"),
        ("-n", "%rails=[12]", "-n", "%rails=1|%rails=2"),
        ("-n", "%rails=1"),
        ("-S", "full=1", "-S", "ImbUniband.window=8", "-P", "repetitions:2,4", "-P", "rails=1,2"),
        ("-P", "policy=round-robin", "-P", "ImbUniband.policy=single,striping,default"),
        ("-n", "%policy=round.*|%policy=(striping|single)"),
    ],
)  # fmt: skip
def test_what_there_is_may_be_selected(virtual: System, options: Sequence[str]) -> None:
    refuse_unknown(options, virtual)


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
            "-n Uniband.*%policy=striping: found striping, which stacks of virtual do unasked, so that no test has it "
            "in its name; choose it by -P policy=striping",
        ),
        (("-n", "%rails=3"), None, "-n %rails=3: found 3 rails, expected 1 or 2, for which virtual can have tests"),
        (("--name=x%rails=8",), None, "-n x%rails=8: found 8 rails, expected 1 or 2, for which virtual can have tests"),
        (("-n%rails=2",), "eth", "-n %rails=2: found 2 rails, expected 1, for which virtual:eth can have tests"),
        (
            ("-P", "ImbUniband.rails=1,0"),
            None,
            "-P ImbUniband.rails=1,0: found 0 rails, expected 1 or 2, for which virtual can have tests",
        ),
    ],
)
def test_what_there_is_not_is_refused(
    virtual: System, options: Sequence[str], fabric: str | None, sentence: str
) -> None:
    with pytest.raises(RailyardError) as caught:
        refuse_unknown(options, virtual, fabric)
    assert str(caught.value) == sentence
