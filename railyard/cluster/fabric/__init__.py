"""The state of a fabric before any benchmark: ports, cards, slots, counters and members against the system's file.

Pure judgement (``judge``) over what was read (``readings``); ``saved`` and ``sysfs`` read files, and ``diagnostics``,
which is no part of what a judgement imports, runs the tools. A new thing to judge is a module with one function
``…_findings(expected, readings)``, named in ``judge.JUDGES``.
"""
