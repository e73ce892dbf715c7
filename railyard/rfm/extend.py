"""Railyard's partitions in a system of a site's own ReFrame configuration: one command then runs both suites."""

import re
from collections.abc import Mapping, Sequence
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any

from reframe.core import runtime as reframe_runtime
from reframe.core.exceptions import ConfigError

import railyard.rfm.settings  # noqa: F401  # before all else of ours: it switches the garbage collector off meanwhile
from railyard.base.errors import RailyardError, did_you_mean
from railyard.base.paths import SETTINGS_FILE, find_home
from railyard.rfm.refusals import refuse_empty_runs
from railyard.rfm.settings import environments_of, partition_of, say_remark
from railyard.rfm.system_choice import note_systems
from railyard.rfm.versions import import_settings
from railyard.site.site import load_site
from railyard.site.systems.model import System

#: An extra of our partitions in a site's system: only tests that ask for them run there.
_FOR_ASKING = "railyard_for_asking"
#: What a test of ours asks of a partition: ``+rails2``.
_RAILS = re.compile(r"\+rails[1-9][0-9]*")


def extend(
    site_configuration: Mapping[str, Any] | str | Path, system: str, home: str | Path | None = None
) -> dict[str, Any]:
    """Return a site's ReFrame configuration with Railyard's partitions and environments in its system ``system``.

    ``site_configuration``: the dictionary, or where it is: the path of a settings file (``.py``), or the name of a
    module that can be imported. ``system`` is both the name of the site's system and of ``systems/<system>.yaml`` in
    ``home``, Railyard's folder of the site (None: RAILYARD_HOME, else the working folder).

    Nothing of the site is changed: neither its dictionary nor, in what is returned, its host names, partitions,
    features, extras, resources, environments, ``general`` and ``logging``. Its tests do not run on Railyard's
    partitions, not even those for any system (``*``): a partition of ours is only for tests that ask for ``+rails1``
    (or another number) or name it.

    If a file of ``system`` has a mistake, ReFrame refuses this system, and no other. Raises ConfigError for everything
    else: no such system, a fabric that has the name of a partition, another module system.
    """
    try:
        folder = find_home() if home is None else find_home(Path(home) / SETTINGS_FILE)
        systems = load_site(folder)
        say_remark(systems)
        given = _read(site_configuration)
        own = _system_of(given, system)
        if system in systems.broken:
            note_systems((), {system: str(systems.broken[system].error)})
            return dict(given)
        added = systems[system]
        _refuse_unfit(added, own)
        environments = _new_environments(added, given["environments"])
    except (RailyardError, OSError) as error:
        raise ConfigError(str(error)) from None
    partitions = [partition_of(folder, added, fabric) for fabric in added.fabrics]
    for each in partitions:
        each["extras"][_FOR_ASKING] = True
    whole = {**own, "partitions": [*own["partitions"], *partitions]}
    refuse_empty_runs(folder, {system: added}, shared=True)
    note_systems((system,), {})
    _hide_from_others()
    return {
        **given,
        "systems": [whole if each is own else each for each in given["systems"]],
        "environments": [*given["environments"], *environments],
    }


def _read(given: Mapping[str, Any] | str | Path) -> Mapping[str, Any]:
    """Return the configuration that is given or at the place that is given. Raises RailyardError."""
    if isinstance(given, Mapping):
        found: Any = given
    else:
        is_file = str(given).endswith(".py")
        if is_file and not Path(given).is_file():
            raise RailyardError(f'extend: found no file "{given}", expected the site\'s settings file there')
        try:
            module = import_settings(given) if is_file else import_module(str(given))
        except ImportError as error:
            raise RailyardError(
                f'extend: found "{given}", which cannot be imported ({error}), expected the site\'s configuration, the '
                "path of a settings file (.py), or the name of a module"
            ) from None
        found = getattr(module, "site_configuration", None)
    if not isinstance(found, Mapping) or not all(
        isinstance(found.get(key), list) for key in ("systems", "environments")
    ):
        where = "the first argument" if isinstance(given, Mapping) else f"site_configuration of {given}"
        raise RailyardError(
            f"extend: {where}: found no lists of systems and environments, expected ReFrame's site configuration"
        )
    return found


def _system_of(given: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found: list[Mapping[str, Any]] = [each for each in given["systems"] if each.get("name") == name]
    if not found:
        near = did_you_mean(name, [str(each.get("name")) for each in given["systems"]])
        raise RailyardError(
            f'extend: found no system "{name}" in the site\'s configuration, expected one of the name of '
            f"systems/{name}.yaml; {near}"
        )
    return found[0]


def _refuse_unfit(added: System, own: Mapping[str, Any]) -> None:
    """Raise RailyardError if the site's system cannot have the partitions of ours."""
    file = f"systems/{added.system}.yaml"
    for fabric in added.fabrics:
        if any(each.get("name") == fabric for each in own["partitions"]):
            raise RailyardError(
                f"{file}: fabrics.{fabric}: found the name of a partition of the site's system {added.system}, "
                "expected another; rename the fabric, also in the references"
            )
    theirs = own.get("modules_system", "nomod")
    if added.modules_system and added.modules_system != theirs:
        raise RailyardError(
            f"{file}: modules_system: found {added.modules_system}, expected {theirs}, as the site's system "
            f"{added.system} has: ReFrame loads the modules of a system with one of them"
        )
    if added.provider == "testbed":
        raise RailyardError(f"{file}: provider: found testbed, the virtual cluster, expected a system of the site")


def _new_environments(added: System, given: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the environments of ours for this system. Those of the site stay what they are, also of equal names.

    An environment of a partition is more specific to ReFrame than any that the site has for its system or for all. One
    for the whole system would take the place of the site's, so it is left out where the site has one of this name.
    """
    new = []
    for each in environments_of(added):
        (target,) = each["target_systems"]
        same = [env.get("target_systems", ["*"]) for env in given if env.get("name") == each["name"]]
        if target != added.system:
            if any(target in targets for targets in same):
                raise RailyardError(
                    f"systems/{added.system}.yaml: stacks.{each['name']}: found an environment of this name for "
                    f"{target} in the site's configuration, expected none; remove it there"
                )
            new.append(each)
        elif not any({added.system, "*"} & {*targets} for targets in same):
            new.append(each)
    return new


def _hide_from_others() -> None:
    """Make ReFrame give our partitions in a site's system only to tests that ask for them, and to their fixtures.

    Else each test of the site for any partition (`*`, `csd3`, `-gpu`) would run there too. Both callers in ReFrame
    4.10.4, of test cases and of fixtures, use this one function.
    """
    original = reframe_runtime.valid_sysenv_comb
    if hasattr(original, "__wrapped__"):
        return

    @wraps(original)
    def valid_sysenv_comb(valid_systems: Sequence[str], *given: Any, **named: Any) -> dict[Any, Any]:
        found = original(valid_systems, *given, **named)
        return {
            partition: environs
            for partition, environs in found.items()
            if _FOR_ASKING not in partition.extras or _asks_for(partition.fullname, valid_systems)
        }

    reframe_runtime.valid_sysenv_comb = valid_sysenv_comb


def _asks_for(partition: str, valid_systems: Sequence[str]) -> bool:
    words = [word for spec in valid_systems for word in spec.split()]
    return any(word == partition or _RAILS.fullmatch(word) for word in words)
