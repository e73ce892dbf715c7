"""What the tests of applications share with those of the parsers: genuine outputs, if they are there."""

from tests.parsers.conftest import corpus

__all__ = ["corpus"]
