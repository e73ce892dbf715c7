"""Output of a benchmark as text -> typed tables: one module per tool, no path, no clock, no ReFrame.

A parser is a module here that has ``TOOL`` (the tool's name, which is also the module's) and ``parse``, and a line in
``tool_signs.SIGNS``. A check imports only its own parser's module, and a listing of checks none.
"""

from railyard.parsers.tool_signs import SIGNS, Parsers

TOOLS = tuple(SIGNS)
PARSERS = Parsers(__name__, SIGNS)
