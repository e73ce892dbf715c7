"""How each MPI stack is told fabric, devices, rails and rail policy: one table, and the questions asked of it.

A new stack is one entry in ``table.py`` (its ways in a module of its family) and one folder in ``spack_envs/``.
"""

from railyard.stacks.ask import (
    LogProof,
    Settings,
    cores_a_rank,
    device_patterns,
    forward,
    launch_options,
    policies,
    settings,
    why_not,
)
from railyard.stacks.document import document, overview, roce
from railyard.stacks.model import KINDS, KNOBS, POLICIES, Launch, Proof, Setting, Spread, Stack, Way
from railyard.stacks.policy import NIC_PER_RANK, STRIPING, TUNED_PATTERN, parted, tuned, unknown
from railyard.stacks.programs import own_feature, pair_feature, tool_features, why_not_own, why_not_tool
from railyard.stacks.table import STACKS

__all__ = [
    "KINDS",
    "KNOBS",
    "NIC_PER_RANK",
    "POLICIES",
    "STACKS",
    "STRIPING",
    "TUNED_PATTERN",
    "Launch",
    "LogProof",
    "Proof",
    "Setting",
    "Settings",
    "Spread",
    "Stack",
    "Way",
    "cores_a_rank",
    "device_patterns",
    "document",
    "forward",
    "launch_options",
    "overview",
    "own_feature",
    "pair_feature",
    "parted",
    "policies",
    "roce",
    "settings",
    "tool_features",
    "tuned",
    "unknown",
    "why_not",
    "why_not_own",
    "why_not_tool",
]
