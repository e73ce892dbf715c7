"""Chooses a run's rail policy from those of a way, by name or as the first that fits. Says why one is impossible."""

from railyard.stacks.model import STRIPING, Setting, Spread, Way, split_threshold, tuned_name


def why_not_rails(way: Way, rails: int, name: str | None) -> str | None:
    """Return why a way cannot use so many rails with the policy of this name (None: any policy); None if it can."""
    policy, threshold = (None, None) if name is None else split_threshold(name)
    reason = _why_not_policy(way, rails, policy)
    return _why_not_threshold(way, threshold) if reason is None and threshold is not None else reason


def _why_not_threshold(way: Way, threshold: int) -> str | None:
    """Return why striping cannot have this threshold, or None if it can. The default threshold needs no name."""
    spread = next(spread for spread in way.spreads if spread.policy == STRIPING)
    if spread.tunable is None:
        why = f"no setting changes from which size {way.transport} stripes: {spread.threshold}"
        return f"{tuned_name(threshold)} was asked for, and {why}"
    name = spread.tunable.name
    if threshold < spread.least_bytes:
        return f"{tuned_name(threshold)} was asked for, and {name} takes no less than {spread.least_bytes} B"
    if any(line.name == name and line.value == str(threshold) for line in spread.settings):
        return f"{tuned_name(threshold)} is what {name} is set to by default: write {STRIPING}"
    return None


def tuned_line(line: Setting, spread: Spread, threshold: int | None) -> Setting:
    """Return a setting of the policy; if another threshold is asked for, with the threshold's blank in its value."""
    tunable = spread.tunable
    return tunable if threshold is not None and tunable is not None and line.name == tunable.name else line


def split_from(spread: Spread, threshold: int | None) -> int | None:
    """Return the size in bytes from which messages are split; None if none are, or if no number is known."""
    if threshold is None:
        return spread.threshold_bytes
    return 2 * threshold if spread.splits_above else threshold


def _why_not_policy(way: Way, rails: int, policy: str | None) -> str | None:
    if policy is not None and policy in way.cannot:
        return way.cannot[policy]
    if rails == 1:
        return None if policy in (None, "single") else f"policy {policy} needs at least 2 rails, 1 was asked for"
    if policy == "single":
        return f"policy single uses one rail, {rails} were asked for"
    fitting = [spread for spread in way.spreads if spread.policy != "single" and policy in (None, spread.policy)]
    if not fitting:
        return f"no policy uses {rails} rails: {' '.join(dict.fromkeys(way.cannot.values()))}"
    most = max(fitting, key=lambda spread: spread.max_rails or rails)
    if rails <= (most.max_rails or rails):
        return None
    return f"{most.policy} over {way.transport} uses at most {most.max_rails} rails, {rails} were asked for"


def spread_of(way: Way, rails: int, policy: str | None) -> Spread:
    """Return the policy of a way that why_not_rails has accepted: the named one, else the first that fits."""
    wanted = policy or ("single" if rails == 1 else None)
    for spread in way.spreads:
        if spread.policy == wanted:
            return spread
        if wanted is None and spread.policy != "single" and rails <= (spread.max_rails or rails):
            return spread
    raise AssertionError(f"why_not accepted {rails} rails with {policy} over {way.transport}")
