"""Railyard: ReFrame checks that say whether each interconnect of a cluster delivers what it should."""

__version__ = "0.1.0"
