"""Why options select no test: a name or a tag that no check has, with the nearest one that exists."""

import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from railyard.base.errors import did_you_mean
from railyard.rfm.run.options import Words
from railyard.site.test_id import TestId

_MOST_LISTED = 30
#: After the class of a check in a name of `-n`: its parameters, its place, or its hash.
_BEHIND_CLASS = re.compile(r"[%@/ ].*")


def unknown_names(words: Words, selected: Sequence[TestId], checks: Path) -> list[str]:
    """Return a sentence for each `-n` that selected nothing and names no check; none if checks are given by `-c`.

    ReFrame runs what the other names select, and does not mention such a name. Check files are imported only if a name
    selected nothing. Raises RailyardError for a file that cannot be imported.
    """
    # ReFrame searches a name and its parameters without blanks; a variant (@3) and a hash have the class alone.
    ran = {case.name.replace(" ", "") for case in selected} | {case.name.split()[0] for case in selected}
    idle = [name for name in words.name if not (_fits(name, ran) or _fits(_class_pattern(name), ran))]
    if not idle or _are_given(words, checks):
        return []
    from railyard.rfm.checks.catalogue import names  # imports ReFrame and all checks

    known = names(checks)
    return [
        f'-n {name}: found no check "{_class_pattern(name)}", expected the class of a check; '
        f"{_nearest(_class_pattern(name), known)}"
        for name in idle
        if _class_pattern(name) and not _fits(_class_pattern(name), known)
    ]


def nothing_selected(words: Words, system: str, checks: Path) -> list[str]:
    """Return why these options select no test of a system: unknown tags, else where to look."""
    sentences = [] if _are_given(words, checks) else [*_unknown_tags(words, checks)]
    if sentences:
        return sentences
    named = f" --system {system.partition(':')[0]}" if system else ""
    return [f"nothing was selected: no check fits these options; type: railyard matrix{named} --why"]


def _unknown_tags(words: Words, checks: Path) -> Iterator[str]:
    if not words.tag:
        return
    from railyard.rfm.checks.catalogue import tags

    known = tags(checks)
    for tag in words.tag:
        if not _fits(tag, known):
            yield f"-t {tag}: found no check with this tag, expected one that a check has; {_nearest(tag, known)}"


def _are_given(words: Words, checks: Path) -> bool:
    """Return whether checks come from a folder other than the site's own, which is the default."""
    return words.checkpath not in ([], [str(checks)])


def _class_pattern(name: str) -> str:
    return _BEHIND_CLASS.sub("", name)


def _fits(pattern: str, names: Collection[str]) -> bool:
    """Return whether a pattern is found in a name, as ReFrame searches. An invalid pattern is left to ReFrame."""
    try:
        return any(re.search(pattern, name) for name in names)
    except re.error:
        return True


def _nearest(name: str, known: Collection[str]) -> str:
    hint = did_you_mean(name, known)
    is_long = len(known) > _MOST_LISTED and not hint.startswith("did you mean")
    return "railyard matrix lists them all" if is_long else hint
