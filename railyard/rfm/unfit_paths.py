"""Refuses folders of ReFrame that its jobs cannot have, before the first test, and never runs a command in a path.

ReFrame 4.10.4 expands the paths of its options itself, and runs what is in them as ``$(command)`` or between backquotes
(``reframe.utility.osext.expandvars``). A blank or a quotation mark in the stage directory fails each test of the
scheduler ``local``, without a word about the folder. A settings file can only reach the method that takes the options;
``--perflogdir`` is expanded once before any settings file is read, so `railyard run` refuses that one itself.
"""

import os
from collections.abc import Collection, Mapping
from functools import wraps
from pathlib import Path
from typing import Any

from reframe.core.config import _SiteConfig
from reframe.core.exceptions import ConfigError

from railyard.base.errors import RailyardError
from railyard.base.paths import refuse_command, refuse_unfit

#: ReFrame's names of the options that say where jobs run and what they leave -> the options as people type them.
_OF_JOBS: Mapping[str, str] = {
    "systems/prefix": "--prefix",
    "systems/stagedir": "--stage",
    "systems/outputdir": "--output",
    "logging/handlers_perflog/filelog_basedir": "--perflogdir",
}
#: Those of other paths: only a command in them is refused.
_OTHERS: Mapping[str, str] = {
    "general/check_search_path": "-c",
    "general/report_file": "--report-file",
    "general/report_junit": "--report-junit",
    "storage/sqlite_db_file": "RFM_SQLITE_DB_FILE",
}

#: The systems of Railyard in this process: with any other one ReFrame stays as it is.
_OURS: set[str] = set()


def refuse_unfit_options(names: Collection[str]) -> None:
    """Make ReFrame refuse, on these systems, options and variables with a path that its jobs cannot have.

    It ends with exit 1 and one sentence (``ConfigError``), before it makes any folder.
    """
    _OURS.update(names)
    original = _SiteConfig.add_sticky_option
    if hasattr(original, "__wrapped__"):
        return

    @wraps(original)
    def add_sticky_option(site: Any, option: str, value: Any) -> None:
        if site.subconfig_system.partition(":")[0] in _OURS:
            try:
                _refuse(option, value)
            except RailyardError as error:
                raise ConfigError(str(error)) from None
        original(site, option, value)

    _SiteConfig.add_sticky_option = add_sticky_option


def _refuse(option: str, value: Any) -> None:
    shown = _OF_JOBS.get(option) or _OTHERS.get(option)
    if shown is None:
        return
    for path in value if isinstance(value, list | tuple) else [value]:
        refuse_command(path, shown)
        if option in _OF_JOBS:
            # A site may have $SCRATCH in it.
            refuse_unfit(Path(os.path.abspath(os.path.expandvars(path))), f"{shown} to be")
