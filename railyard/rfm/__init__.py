"""All that knows ReFrame: settings, launchers, schedulers, the bases of checks, and `reframe -r`.

With a release of ReFrame that Railyard was not tried with, nothing here can be imported: SetupError.
"""

from railyard.base.errors import SetupError
from railyard.site.reframe_versions import installed, why_outside

_release = installed()
_why = None if _release is None else why_outside(_release)  # without ReFrame, `railyard run` says so
if _why is not None:
    raise SetupError(_why)
