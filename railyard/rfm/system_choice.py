"""Which system ReFrame takes: none with a broken file, none that two settings files have, ours for any host last.

ReFrame 4.10.4 only warns of a system in two files and takes the one of the last file, and it has no word for a
system that exists and must not run. A settings file can only reach the methods of its configuration.
"""

from collections.abc import Callable, Collection, Mapping
from functools import wraps
from typing import Any

from reframe.core.config import _SiteConfig
from reframe.core.exceptions import ConfigError

#: What ReFrame calls its own configuration, which it always reads first.
_BUILTIN = "<builtin>"

#: The systems of Railyard in this process -> the sentence that says why it must not run, empty for one that may.
_OURS: dict[str, str] = {}
#: Those of them that take any host.
_FOR_ANY_HOST: set[str] = set()


def note_systems(names: Collection[str], broken: Mapping[str, str], *, for_any_host: Collection[str] = ()) -> None:
    """Make ReFrame refuse the broken systems and any second file with one of these names.

    ``broken``: name -> the sentence that ReFrame ends with, exit 1, if it chooses this system by name or by host.
    ``for_any_host``: those whose patterns take any host. A host that another suite's system takes is not one of theirs.
    """
    _OURS.update({**dict.fromkeys(names, ""), **broken})
    _FOR_ANY_HOST.difference_update(names, broken)
    _FOR_ANY_HOST.update(for_any_host)
    _replace("_update_system_defs", _refuse_second_file)
    _replace("_detect_system", _ours_last)
    _replace("select_subconfig", _refuse_broken)


def _replace(method: str, made: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Replace a method of ReFrame's configuration by what is made of it, once."""
    original = getattr(_SiteConfig, method)
    if not hasattr(original, "__wrapped__"):
        setattr(_SiteConfig, method, made(original))


def _refuse_second_file(original: Callable[..., None]) -> Callable[..., None]:
    @wraps(original)
    def update_system_defs(site: Any, config: list[dict[str, Any]], filename: str) -> None:
        for name in (entry["name"] for entry in config):
            first = site._definitions["systems"].get(name, _BUILTIN)
            if name in _OURS and first not in (_BUILTIN, filename):
                raise ConfigError(
                    f'{filename}: found the system "{name}", which {first} has too, expected each system in one file; '
                    f"rename one, or leave out reframe_settings.py and let the site's own file call "
                    f"railyard.siteconfig.extend (docs/howto/reframe-set-up.md)"
                )
        original(site, config, filename)

    return update_system_defs


def _ours_last(original: Callable[..., str]) -> Callable[..., str]:
    @wraps(original)
    def detect_system(site: Any) -> str:
        *others, builtin = site._site_config["systems"]  # ReFrame's own system, for any host too, is the last one
        last = [each for each in others if each["name"] in _FOR_ANY_HOST]
        site._site_config["systems"] = [each for each in others if each not in last] + [*last, builtin]
        return original(site)

    return detect_system


def _refuse_broken(original: Callable[..., None]) -> Callable[..., None]:
    @wraps(original)
    def select_subconfig(site: Any, system_fullname: str | None = None, *given: Any, **named: Any) -> None:
        name = system_fullname or site._detect_system()
        why = _OURS.get(name.partition(":")[0])
        if why:
            by_host = (
                f'\n(this host is or may be one of "{name}": correct the file, or name another system by --system)'
            )
            raise ConfigError(f"{why}{'' if system_fullname else by_host}")
        original(site, name, *given, **named)

    return select_subconfig
