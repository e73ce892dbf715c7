"""All that knows ReFrame: settings, launchers, schedulers, the bases of checks, and `reframe -r`.

With a release of ReFrame that Railyard was not tried with, nothing here can be imported: OtherRelease.
"""

from railyard.base.errors import SetupError
from railyard.site.reframe_versions import release_here, why_outside


class OtherRelease(SetupError, OSError):
    """A release of ReFrame outside the range. ReFrame itself prints an OSError of a settings file alone, exit 1."""


_release = release_here()
_why = None if _release is None else why_outside(_release)  # without ReFrame, `railyard run` says so
if _why is not None:
    raise OtherRelease(_why)
