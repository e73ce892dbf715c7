"""A test's name as ReFrame shows it, taken apart: ``OsuBandwidth %rails=2 %policy=round-robin``."""

_RAILS, _POLICY = "%rails=", "%policy="


def plain_check(name: str) -> str:
    """Return the check with its own parameters, without rails and rail policy: ``OsuCollective %collective=bcast``.

    What stands behind " @" (system, partition and environment) is left out.
    """
    return _without(name, _RAILS, _POLICY)


def check_of(name: str) -> str:
    """Return the test with its parameters, without the number of rails: ``OsuBandwidth %policy=round-robin``."""
    return _without(name, _RAILS)


def named_policy(name: str) -> str | None:
    """Return the rail policy that a test names; None where it leaves that to the stack."""
    return next((word.removeprefix(_POLICY) for word in name.split() if word.startswith(_POLICY)), None)


def named_rails(name: str) -> int | None:
    """Return the number of rails that a test names, None where it names none."""
    found = next((word.removeprefix(_RAILS) for word in name.split() if word.startswith(_RAILS)), "")
    return int(found) if found.isdigit() else None


def with_policy(check: str, policy: str | None) -> str:
    """Return a check with a rail policy behind its class, where ReFrame has it; as it is without one."""
    first, *rest = check.split()
    return " ".join([first, *([f"{_POLICY}{policy}"] if policy else []), *rest])


def _without(name: str, *parameters: str) -> str:
    words = (name.rpartition(" @")[0] or name).split()
    return " ".join(word for word in words if not word.startswith(parameters))
