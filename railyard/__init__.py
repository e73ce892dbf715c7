"""Railyard: ReFrame checks that tell whether each interconnect of a cluster delivers what it should."""

import sys

from railyard.base.old_addresses import OldAddresses

__version__ = "0.2.0"

sys.meta_path.append(OldAddresses())
