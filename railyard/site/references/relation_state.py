"""The outcome of a relation between curves. A separate module, so a report does not have to load the model of files."""

from typing import Literal

RelationState = Literal["pass", "fail", "not-judged"]
