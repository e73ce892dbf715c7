"""Compares a fabric with the system's file before any benchmark: ports, cards, slots, counters and members.

``judge`` only judges what was read (``Readings``). ``saved`` and ``sysfs`` read files, and ``diagnostics`` runs the
tools; no judgement imports ``diagnostics``. To judge something new, write a module with one function
``…_findings(expected, readings)``, and name it in ``judge.JUDGES``.
"""
