"""ReFrame's options of a run: read as ReFrame reads them, and compared with the system."""

import argparse
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NoReturn

from railyard.base.errors import RailyardError, did_you_mean
from railyard.base.paths import CHECKS, part
from railyard.base.wording import count_of, few, listing
from railyard.rfm.checks.groups import SET_BY_CHECKS
from railyard.site.matrix import DEFAULT, EXTENDED, Need, policies
from railyard.site.systems.measure import NODES, RANKS
from railyard.site.systems.model import System
from railyard.site.test_id import TestId
from railyard.stacks.model import number_alone

_MOST_LISTED = 30
#: After the class of a check in a name of `-n`: its parameters, its place, or its hash.
_BEHIND_CLASS = re.compile(r"[%@/ ].*")
#: A variant ("OsuBandwidth@3") or a hash ("/69235c30"), which ReFrame does not compare with names.
_OTHER_NAME = re.compile(r"@|^/")
#: What a report says about a check that was left out.
LEFT_OUT = "an extended check, not part of an everyday run: railyard run --extended (make run EXTENDED=1)"
#: Options that switch a verdict off: refused, since every test would pass unjudged.
UNJUDGED = ("--skip-sanity-check", "--skip-performance-check")
#: Options that take a value and may be given more than once.
VALUED = (
    *("-C --config-file", "-c --checkpath", "-n --name", "-p --prgenv", "-P --parameterize", "-S --setvar"),
    *("-t --tag", "-E --filter-expr", "-x --exclude", "-T --exclude-tag", "--perflogdir"),
)
#: The option that restores an earlier session, by its report.
RESTORED = "--restore-session"
#: Options that may have a value: -lC, --list=T, --restore-session=FILE.
_LISTINGS = ("-l --list", "-L --list-detailed", "--show-config", "--list-stored-sessions", "--detect-host-topology")
OPTIONAL = (*_LISTINGS, RESTORED)
PLAIN = ("--list-tags", "--describe", "--dry-run", "--failed", *UNJUDGED)
#: Actions of ReFrame in place of a run that have a value.
ACTIONS = (
    *("--performance-compare", "--list-stored-testcases", "--describe-stored-sessions", "--describe-stored-testcases"),
    *("--delete-stored-sessions", "--ci-generate"),
)
#: "ImbUniband%rails=2" or "%rails=[12]": only a plain number can be compared with the system.
_RAILS = re.compile(r"%rails=(\d+)(?![\d*+?{\[])")
#: "%policy=round-robin"; a test's name has only a policy other than its stack's default.
_POLICY = re.compile(r"%policy=([\w-]+)(?![\w*+?{\[.-])")
#: "rails=1,2" or "ImbUniband.rails=1".
_ASSIGNED = re.compile(r"(?:\w+\.)?(?P<name>rails|policy)[=:](?P<values>.*)")


class Words(argparse.Namespace):
    """The options that matter here, as they are given. ReFrame has more, which are ignored here."""

    config_file: list[str]
    checkpath: list[str]
    name: list[str]
    prgenv: list[str]
    parameterize: list[str]
    setvar: list[str]
    tag: list[str]
    filter_expr: list[str]
    exclude: list[str]
    exclude_tag: list[str]
    perflogdir: list[str]
    list: str | None
    list_detailed: str | None
    show_config: str | None
    restore_session: str | None
    list_tags: bool
    describe: bool
    dry_run: bool
    failed: bool
    skip_sanity_check: bool
    skip_performance_check: bool

    @property
    def lists(self) -> bool:
        """Whether ReFrame lists, describes, compares what is stored or dry-runs, and measures nothing."""
        valued = (*_LISTINGS, *ACTIONS)
        given = (getattr(self, name.split()[-1].removeprefix("--").replace("-", "_"), None) for name in valued)
        return any(each is not None for each in given) or self.list_tags or self.describe or self.dry_run

    @property
    def chooses(self) -> bool:
        """Whether the user chooses tests by what they are, and so wants exactly those."""
        return bool(self.name or self.tag or self.filter_expr or self.failed or self.restore_session is not None)


def check_places(words: Words, home: Path) -> tuple[Path, ...]:
    """Return the files and folders of checks that `-c` gives; without it the site's checks, or those of Railyard."""
    return tuple(map(Path, words.checkpath)) or (part(home, CHECKS),)


class _Refusal(Exception):
    pass


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _Refusal


@cache
def _parser() -> _Parser:
    parser = _Parser(add_help=False)
    for names in VALUED:
        parser.add_argument(*names.split(), action="append", default=[])
    for names in OPTIONAL:
        parser.add_argument(*names.split(), nargs="?", const="")
    for name in PLAIN:
        parser.add_argument(name, action="store_true")
    for name in ACTIONS:
        parser.add_argument(name)
    return parser


def read(options: Sequence[str]) -> Words:
    """Return these options as ReFrame's own argparse reads them: `-p X`, `-pX`, `--prgenv X`, `--prg=X`.

    If argparse cannot read a line (an option without its value), return nothing: ReFrame refuses it and says why.
    """
    try:
        return _parser().parse_known_args(options, Words())[0]
    except _Refusal:
        return _parser().parse_args([], Words())


def leaves_out_extended(system: System, words: Words, *, extended: bool) -> bool:
    """Return whether a run with these options leaves the extended checks of a system out.

    A replay costs a fraction of a second per check, so it has all of them.
    """
    return not extended and system.provider != "replay" and not words.chooses


def everyday_words() -> list[str]:
    """Return the words for ReFrame that leave the extended checks out."""
    return ["-T", f"^{EXTENDED}$"]


def refuse_unjudged(words: Words) -> None:
    """Raise RailyardError if an option would pass every test without a verdict."""
    for option, given in zip(UNJUDGED, (words.skip_sanity_check, words.skip_performance_check), strict=True):
        if given:
            raise RailyardError(
                f"{option}: found an option that switches verdicts off, expected every test to be judged; leave it out"
            )


def refuse_unknown(words: Words, system: System, fabric: str | None = None) -> None:
    """Raise RailyardError if options name a stack, a rail policy or a number of rails that is not there.

    ``fabric`` limits the rails to those of one fabric.
    """
    _refuse_broken_patterns(words)
    for pattern in words.prgenv:
        if not any(re.match(pattern, stack) for stack in system.stacks):
            raise RailyardError(
                f'-p: found "{pattern}", expected a stack of {system.system}; {did_you_mean(pattern, system.stacks)}'
            )
    fabrics = system.fabrics if fabric is None else {fabric: system.fabrics[fabric]}
    counts = [str(count) for count in sorted({count for each in fabrics.values() for count in each.counts})]
    where = f"{system.system}:{fabric}" if fabric else system.system
    named = [(f"-n {text}", _RAILS.findall(text)) for text in words.name]
    named += [(f"-P {text}", _assigned_values(text, "rails")) for text in words.parameterize]
    for option, asked in named:
        for count in asked:
            if count not in counts:
                raise RailyardError(
                    f"{option}: found {count} rails, expected {' or '.join(counts)}: {where} has no tests "
                    "for other numbers"
                )
    _refuse_policies(words, system, tuple(fabrics), where)
    _refuse_numbers(words, system)


def _refuse_broken_patterns(words: Words) -> None:
    """Refuse a pattern that is no regular expression: ReFrame would end with a traceback."""
    given = {"-n": words.name, "-x": words.exclude, "-p": words.prgenv, "-t": words.tag, "-T": words.exclude_tag}
    for option, pattern in ((option, pattern) for option, patterns in given.items() for pattern in patterns):
        try:
            re.compile(pattern)
        except re.error as error:
            plain = re.escape(pattern)
            raise RailyardError(
                f'{option}: found "{pattern}", expected a regular expression: {error}; if each '
                f"character is meant write '{plain}'"
            ) from None


#: "num_nodes=16" or "Hpl.num_nodes=16".
_SET = re.compile(r"(?:(?P<cls>\w+)\.)?(?P<name>\w+)=(?P<value>.*)")


def _refuse_numbers(words: Words, system: System) -> None:
    """Refuse a variable that every check sets itself or does not use, and more nodes than the system has."""
    for text in words.setvar:
        found = _SET.fullmatch(text)
        if found is not None and found["name"] in SET_BY_CHECKS:
            instead = SET_BY_CHECKS[found["name"]]
            raise RailyardError(f"-S {text}: found a variable that no check takes, expected {instead}")
        if found is None or found["name"] != NODES or not found["value"].isdecimal() or system.provider == "host":
            continue
        if int(found["value"]) > system.nodes.number:
            there = count_of(system.nodes.number, "node")
            raise RailyardError(f"-S {text}: found {found['value']} nodes, expected at most {there} of {system.system}")


def refuse_untaken(words: Words, promised: Iterable[TestId], needs: Sequence[Need]) -> None:
    """Raise RailyardError if `-S` gives a selected check what it does not take, or what has no effect on any check."""
    selected = {case.name.split()[0] for case in promised}
    for text in words.setvar:
        _refuse_idle(text, [need for need in needs if need.check.split()[0] in selected])
    for text in words.setvar:
        asked = {need.check.split()[0]: _why_untaken(text, need) for need in needs}
        unlike = [cls for cls, why in asked.items() if why and cls in selected]
        if unlike:
            taking = sorted(cls for cls, why in asked.items() if why == "")
            raise RailyardError(
                f"-S {text}: {unlike[0]} does not take it, expected {asked[unlike[0]]}; "
                f"it works with {listing(taking) or 'no check'}"
            )


def _refuse_idle(text: str, needs: Sequence[Need]) -> None:
    """Refuse a variable that has no effect on the checks that it is for; other checks of a run may take it."""
    found = _SET.fullmatch(text)
    asked = [need for need in needs if found is not None and found["cls"] in (None, need.check.split()[0])]
    if found is None or not asked or any(found["name"] not in need.takes.idle for need in asked):
        return
    whose = listing(sorted({need.check.split()[0] for need in asked}))
    works = listing(sorted({name for need in asked for name in need.takes.variables})) or "none"
    raise RailyardError(f"-S {text}: found a variable that does not change {whose}, expected one of theirs: {works}")


def _why_untaken(text: str, need: Need) -> str | None:
    """Return why a check does not take what `-S` gives it; empty if it takes it, None if it is given nothing."""
    found = _SET.fullmatch(text)
    if found is None or not found["value"].isdecimal() or found["cls"] not in (None, need.check.split()[0]):
        return None
    if found["name"] not in (NODES, RANKS):
        return None
    number = int(found["value"])
    return (need.takes.why_not_nodes(number) if found["name"] == NODES else need.takes.why_not_ranks(number)) or ""


def apply_settings(words: Words, needs: Iterable[Need]) -> tuple[Need, ...]:
    """Return needs with what `-S` gives them, and with its numbers of nodes and ranks if the checks take them."""
    return tuple(_with_words(words, need) for need in needs)


def _with_words(words: Words, need: Need) -> Need:
    given: dict[str, int] = {}
    told: dict[str, str] = {}
    for text in words.setvar:
        found = _SET.fullmatch(text)
        if found is None or found["cls"] not in (None, need.check.split()[0]):
            continue
        told[found["name"]] = found["value"]
        if _why_untaken(text, need) == "":
            given[found["name"]] = int(found["value"])
    need = replace(need, told=told) if told else need
    if not given:
        return need
    # A check that gets its numbers from `-S` takes none from the system's file.
    takes = replace(need.takes, fewest=0 if NODES in given else need.takes.fewest, ranks=RANKS not in given)
    return replace(need.with_counts(given.get(NODES), given.get(RANKS)), takes=takes)


def _refuse_policies(words: Words, system: System, fabrics: Sequence[str], where: str) -> None:
    there = [
        policies(system, fabric, stack, rails)
        for fabric in fabrics
        for stack in system.stacks
        for rails in system.fabrics[fabric].counts
    ]
    known = {DEFAULT, *(policy for each in there for policy in each)}
    named = {policy for each in there for policy in each[1:]}
    asked = [(f"-P {text}", _assigned_values(text, "policy"), known) for text in words.parameterize]
    asked += [(f"-n {text}", _POLICY.findall(text), named) for text in words.name]
    for option, found, allowed in asked:
        for policy in found:
            if policy in allowed:
                continue
            if policy in known:
                raise RailyardError(
                    f"{option}: found {policy}, which stacks of {where} use by default: no test has it in its "
                    f"name; choose it with -P policy={policy}"
                )
            number = number_alone(policy)
            if number is not None and any(number <= len(system.fabrics[fabric].rails) for fabric in fabrics):
                raise RailyardError(
                    f"{option}: found {policy}, but no fabric of {where} with that rail is measured over each rail "
                    f"alone, expected one that is; write each_rail: true into the fabric's entry"
                )
            expected = f"a rail policy that a stack of {where} has; {did_you_mean(policy, allowed or known)}"
            raise RailyardError(f'{option}: found "{policy}", expected {expected}')


def _assigned_values(text: str, name: str) -> list[str]:
    found = _ASSIGNED.fullmatch(text)
    return found["values"].split(",") if found and found["name"] == name else []


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


def idle_names(words: Words, selected: Sequence[TestId]) -> list[str]:
    """Return each `-n` that selected nothing, as it is given; no variant (@3) and no hash.

    A run that repeats failures has fewer tests than its names: then none is returned.
    """
    if words.failed or words.restore_session is not None:
        return []
    ran = {case.name.replace(" ", "") for case in selected}
    return [name for name in words.name if not (_OTHER_NAME.search(name) or _fits(name, ran))]


def name_others(name: str, system: str, on_system: Sequence[TestId]) -> str:
    """Return that a `-n` selected nothing, and which tests of its check the system has (``on_system``: all of its)."""
    found = f"-n {name}: found no such test on {system}"
    plain = name.replace(" ", "")
    if plain != name and _fits(plain, {case.name.replace(" ", "") for case in on_system}):
        return f"-n {name}: found a blank, which no name has when ReFrame compares it, expected -n '{plain}'"
    more = f"type: railyard matrix --system {system.partition(':')[0]} --why"
    own = [case for case in on_system if _fits(_class_pattern(name), {case.name.split()[0]})]
    if not own:
        return f"{found}, and none of this check at all, expected a check that runs there; {more}"
    left = " that the other options leave" if _fits(name, {case.name.replace(" ", "") for case in own}) else ""
    # without blanks, as it can be typed
    each = list(dict.fromkeys(f"{case.name.replace(' ', '')} ({case.stack} over {case.fabric})" for case in own))
    return f"{found}{left}, expected one that it has: {few(each)}; {more}"


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
