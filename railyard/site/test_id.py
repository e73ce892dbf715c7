"""Identifies a test: where it runs, what it measures, and its name in ReFrame, which says part of that.

A name is ``OsuBandwidth %rails=2 %policy=round-robin``; the name of a case has `` @system:fabric+stack`` after it.
"""

from dataclasses import dataclass
from typing import ClassVar

_RAILS, _POLICY = "%rails=", "%policy="
#: How ReFrame's own parameters begin: .repeat_no of --repeat, .part and .nid of --distribute.
_GENERATED = "%."


@dataclass(frozen=True, slots=True)
class TestId:
    """One test of one system, as far as stated: empty fields, or 0 rails, are left open.

    ``benchmark`` is ``tool/test``. ``check`` is the test's class, with its own parameters if it has any. ``policy`` is
    the rail policy: what a stack does, or, when names are compared, the policy in a name. ``name`` and ``hash`` are
    ReFrame's.
    """

    __test__: ClassVar[bool] = False  # pytest takes a class with such a name for tests

    fabric: str
    stack: str
    rails: int
    benchmark: str = ""
    check: str = ""
    policy: str = ""
    system: str = ""
    name: str = ""
    hash: str = ""

    @property
    def place(self) -> "TestId":
        """Only the place where it runs: fabric, stack and rails."""
        return TestId(self.fabric, self.stack, self.rails)

    def __str__(self) -> str:
        """Return the case as in ReFrame's listing, without the hash."""
        return f"{self.name} @{self.system}:{self.fabric}+{self.stack}"

    @property
    def is_fixture(self) -> bool:
        """Whether this is a fixture on which tests depend, and not a test: ReFrame shows its scope after a tilde."""
        return " ~" in self.name


def of_name(name: str, hash: str, system: str, fabric: str, stack: str) -> TestId:
    """Return the test with this ReFrame name there; ``rails`` is 0 and ``policy`` empty if the name has none."""
    rails, policy = named_rails(name) or 0, named_policy(name) or ""
    return TestId(fabric, stack, rails, "", plain_check(name), policy, system, name, hash)


def plain_check(name: str) -> str:
    """Return the check with its own parameters, without rails and rail policy: ``OsuCollective %collective=bcast``.

    The part after " @" (system, partition and environment) is left out.
    """
    return _strip_policy(name, _RAILS, _POLICY)


def without_repeat(check: str) -> str:
    """Return a check, or a whole case, without what ReFrame adds for each repeat (``--repeat``) or node of a test."""
    name, at, place = check.partition(" @")
    return f"{_strip_policy(name, _GENERATED)}{at}{place}"


def check_of(name: str) -> str:
    """Return the test with its parameters, without the number of rails: ``OsuBandwidth %policy=round-robin``."""
    return _strip_policy(name, _RAILS)


def named_policy(name: str) -> str | None:
    """Return the rail policy that a test names; None if it leaves that to the stack."""
    return next((word.removeprefix(_POLICY) for word in name.split() if word.startswith(_POLICY)), None)


def named_rails(name: str) -> int | None:
    """Return the number of rails that a test names, None if it names none."""
    found = next((word.removeprefix(_RAILS) for word in name.split() if word.startswith(_RAILS)), "")
    return int(found) if found.isdigit() else None


def with_policy(check: str, policy: str | None) -> str:
    """Return a check with a rail policy after its class, as ReFrame writes it; unchanged without a policy."""
    first, *rest = check.split()
    return " ".join([first, *([f"{_POLICY}{policy}"] if policy else []), *rest])


def _strip_policy(name: str, *parameters: str) -> str:
    words = (name.rpartition(" @")[0] or name).split()
    return " ".join(word for word in words if not word.startswith(parameters))
