"""What a fabric's own tools print -> the state of each port, and of a node's slots: one module per tool, no path.

A parser is a module here with the tool's name, and a line in ``tool_signs.FABRIC_SIGNS``.
"""

from railyard.parsers.tool_signs import FABRIC_SIGNS, Parsers

FABRIC_TOOLS = tuple(FABRIC_SIGNS)
FABRIC_PARSERS = Parsers(__name__, FABRIC_SIGNS)
