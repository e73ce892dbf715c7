"""The address that a site's reframe_settings.py imports: `build` from ``railyard.rfm.settings``."""

from reframe.core.exceptions import ConfigError

from railyard.base.errors import RailyardError

try:
    from railyard.rfm.settings import *  # noqa: F403
except RailyardError as error:  # ReFrame prints a ConfigError alone, without a traceback
    raise ConfigError(str(error)) from None
