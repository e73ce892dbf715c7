"""Names that a check declared before they were in groups. They work for one release and say what to write instead."""

import sys
from dataclasses import replace
from functools import cache
from typing import Any

from railyard.rfm.checks.groups import GROUPS, Group

#: Each old name, with its group's name in a check and its name there.
OLD_NAMES = {
    "kinds": "accepts.fabrics",
    "fewest_nodes": "accepts.fewest_nodes",
    "even_nodes": "accepts.even_nodes",
    "powers": "accepts.powers_to",
    "takes_ranks": "accepts.ranks",
    "sizes_told": "accepts.sizes",
    "pair_a_rail": "layout.pair_per_rail",
    "every_core": "layout.every_core",
    "gpus": "layout.gpus",
    "within_node": "layout.within_node",
    "pair": "start.client_and_server",
    "starts_itself": "start.by_itself",
    "starts_steps": "start.in_steps",
    "program_a_benchmark": "start.program_per_benchmark",
    "cleared": "start.without",
    "check_class": "start.time_limit",
    "output_file": "outputs.file",
    "more_outputs": "outputs.more",
    "rows_on_stderr": "outputs.on_stderr",
    "prints_threads": "outputs.has_threads",
    "probe_key": "probes.ping_pong",
    "probe_program": "probes.program",
    "one_way_key": "probes.one_way",
    "one_way_program": "probes.one_way_program",
    "other_way_seen_by": "probes.other_way_seen_by",
    "other_way_unless": "probes.other_way_unless",
    "told": "request.variables",
    "asked_nodes": "request.nodes",
    "asked_ranks": "request.ranks",
    "refused": "request.refused",
}
_SAID: set[str] = set()


class OldName:
    """A name that is now a field of a group: gives and sets this field, and prints its new name."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._group, _, self._field = OLD_NAMES[name].partition(".")

    def __get__(self, check: Any, owner: type) -> Any:
        """Return the field of a test, or of its class."""
        _say(_caller(), f"{owner.__name__}.{self._name}", OLD_NAMES[self._name])
        return getattr(getattr(owner if check is None else check, self._group), self._field)

    def __set__(self, check: Any, value: Any) -> None:
        """Set the field of a test."""
        group = getattr(check, self._group)
        new = f"self.{self._group} = replace(self.{self._group}, {self._field}={value!r})"
        _say(_caller(), f"{type(check).__name__}.{self._name}", new)
        setattr(check, self._group, replace(group, **{self._field: value}))


def group_old_names(check: type) -> list[tuple[str, Group]]:
    """Return the groups that the body of a class gives by old names, remove these, and print the new names.

    What is no value of a group stays: ``find_override`` says so when a test is made.
    """
    found: dict[str, dict[str, Any]] = {}
    where = getattr(sys.modules.get(check.__module__), "__file__", None) or check.__module__
    for name in [name for name in OLD_NAMES if name in vars(check)]:
        group, _, field = OLD_NAMES[name].partition(".")
        value = vars(check)[name]
        if group not in GROUPS or hasattr(value, "__get__"):
            continue
        _say(where, f"{check.__name__}.{name}", f"{group} = {GROUPS[group].__name__}({field}={value!r})")
        found.setdefault(group, {})[field] = value
        type.__delattr__(check, name)
    own = {group: vars(check).get(group, GROUPS[group]()) for group in found}
    return [(group, GROUPS[group](**{**own[group].own_fields, **fields})) for group, fields in found.items()]


@cache
def find_override(check: type) -> str | None:
    """Return why a class cannot have an old name: as a property or method, or for what only a run sets; else None."""
    for each in check.__mro__:
        for name in [name for name in OLD_NAMES if name in vars(each) and not isinstance(vars(each)[name], OldName)]:
            group, _, field = OLD_NAMES[name].partition(".")
            if group not in GROUPS:
                return f"{each.__name__}: found {name}, expected another name: a run sets {group}.{field}"
            new = f"a property {group} that returns {GROUPS[group].__name__}({field}=…)"
            return f"{each.__name__}: found {name}, expected {new}"
    return None


def _caller() -> str:
    """Return file and line of who uses the name: ReFrame may stand between."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "reframe":
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _say(where: str, old: str, new: str) -> None:
    """Print once who uses an old name. This also works under ReFrame, which hides Python's own warnings."""
    sentence = f"railyard: {where}: found {old}, expected {new} (railyard.check); the next release removes the old name"
    if sentence not in _SAID:
        _SAID.add(sentence)
        print(sentence, file=sys.stderr)
