"""How a relation between curves came out; a module of its own, so that a report need not load the model of files."""

from typing import Literal

RelationState = Literal["pass", "fail", "not-judged"]
