"""Whether a run of su3_rmd computed what was asked: by its plaquette, which is stored, and by its residuals.

A rate alone does not show what was computed: a run with other data, or with data that arrived wrong, is as fast.
"""

from collections.abc import Mapping, Sequence
from typing import TypeGuard

from railyard.base.wording import count_of
from railyard.benchmarks.apps import milc_input
from railyard.benchmarks.physics import Physics
from railyard.parsers.parsed import Cell, Table

#: By how much a plaquette may differ. PLAQ has six decimals in single precision, and adding up the sites in another
#: order may change the last ones. All of them agreed in single and in double precision (4^4 and 8^4 sites), and on 1, 2
#: and 4 ranks (4x4x4x8, 6^4, 4x4x8x8 and 6x6x12x12), since each site has its own random numbers. On 6^4 sites another
#: seed gave 2.521976 in space instead of 2.532602; on 500 times as many sites the difference is some 20 times smaller.
TOLERANCE = 1e-5
#: Mean traces of the plaquettes in space and in time after the four steps of ``milc_input.text``, by lattice. Two keys
#: with the same lattice (L8 on one node, L4 on 16) have the same value.
#: Source: our own runs of su3_rmd of MILC 7.8.1 (milc_qcd, commit 1e11e121), gcc 12.2 -O2, Open MPI 4.1.4, single
#: precision, on one rank, 22 November 2026.
STORED: Mapping[str, tuple[float, float]] = {
    "4x4x4x4": (2.521637, 2.521089),
    "4x4x4x8": (2.527383, 2.537003),
    "4x4x8x8": (2.529866, 2.539771),
    "6x6x6x6": (2.532602, 2.536084),
    "4x8x8x8": (2.530098, 2.532656),
    "6x6x6x12": (2.532557, 2.532607),
    "8x8x8x8": (2.528977, 2.530493),
    "6x6x12x12": (2.532456, 2.529884),
    "8x8x8x16": (2.528858, 2.529898),
    "10x10x10x10": (2.528522, 2.528503),
    "6x12x12x12": (2.529847, 2.528320),
    "8x8x16x16": (2.528395, 2.528334),
    "10x10x10x20": (2.528873, 2.527302),
    "12x12x12x12": (2.528328, 2.527663),
    "8x16x16x16": (2.528512, 2.527297),
    "14x14x14x14": (2.527982, 2.528564),
    "10x10x20x20": (2.527599, 2.528176),
    "12x12x12x24": (2.527395, 2.528755),
    "16x16x16x16": (2.527431, 2.528421),
    "14x14x14x28": (2.526608, 2.527852),
    "10x20x20x20": (2.526759, 2.527680),
    "12x12x24x24": (2.526667, 2.527624),
    "14x14x28x28": (2.527558, 2.527567),
    "20x20x20x20": (2.527581, 2.527520),
    "12x24x24x24": (2.527450, 2.527777),
}
_PLAQUETTE = ("plaquette_space", "plaquette_time")


def wrong(key: str, tables: Sequence[Table]) -> tuple[tuple[int, str], ...]:
    """Return line and sentence for what is wrong with a run's lattice, plaquette and residuals; () for other keys."""
    meant = milc_input.lattice_of(key)
    if meant is None:
        return ()
    return tuple(
        (table.line, why) for table in tables for why in _of_table(table, milc_input.format_lattice(meant)) if why
    )


def remarks(key: str, tables: Sequence[Table]) -> tuple[str, ...]:
    """Return what was checked of a run's physics, and what was not judged. If something is wrong, only the lattice."""
    meant = milc_input.lattice_of(key)
    if meant is None or not tables:
        return ()
    name = milc_input.format_lattice(meant)
    if wrong(key, tables):  # its sentence says what
        return (f"lattice {name}",)
    found = [value for value in _values(tables[0], _PLAQUETTE) if _is_number(value)]
    shown = " and ".join(f"{value:.6f}" for value in found) or "not printed"
    kept = f"is the stored one within {TOLERANCE:.0e}" if name in STORED else f"not judged: no stored value for {name}"
    residual = _values(tables[0], ("residual",))[0]
    solves = (
        f"residuals of all solves at most {residual:.1e}, {milc_input.RESIDUAL:.0e} was asked for"
        if _is_number(residual)
        else "residuals not judged: none was printed (compile MILC with -DCG_OK)"
    )
    return (f"lattice {name}", f"plaquette {shown} {kept}", solves)


def _of_table(table: Table, meant: str) -> list[str | None]:
    """Return a sentence for each check, None if it is right."""
    lattice = table.context.get("lattice")
    if lattice != meant:
        return [f"MILC ran on the lattice {lattice or '(not printed)'}, expected {meant}: it read another input"]
    return [_wrong_plaquette(table, meant), _find_unconverged(table), _wrong_count(table)]


def _wrong_plaquette(table: Table, meant: str) -> str | None:
    found = _values(table, _PLAQUETTE)
    if not all(_is_number(value) for value in found):
        return "MILC printed no plaquette (a line PLAQ with two numbers): nothing says what it computed"
    stored = STORED.get(meant)
    pairs = zip(found, stored or (), strict=False)
    off = max((abs(float(value or 0) - known) for value, known in pairs), default=0.0)
    if stored is None or off <= TOLERANCE:
        return None
    return (
        f"the plaquette is {found[0]:.6f} in space and {found[1]:.6f} in time, stored for {meant}: {stored[0]:.6f} "
        f"and {stored[1]:.6f}; they are {off:.1e} apart, and rounding explains {TOLERANCE:.0e}"
    )


def _find_unconverged(table: Table) -> str | None:
    residual, lost = _values(table, ("residual", "unconverged"))
    too_much = _is_number(residual) and not residual <= milc_input.RESIDUAL
    if not too_much and not lost:
        return None
    shown = f"{residual:.1e}" if _is_number(residual) else "no number"
    said = f"CG did not converge in {count_of(int(lost), 'solve')}" if lost else "CG stopped too early"
    return f"{said}: the largest residual is {shown}, expected at most {milc_input.RESIDUAL:.0e}"


def _wrong_count(table: Table) -> str | None:
    (solves,) = _values(table, ("solves",))
    if solves == milc_input.SOLVES:
        return None
    return f"MILC timed {solves} solves of CG, expected {milc_input.SOLVES}: lines are lost, or it read another input"


def _values(table: Table, names: Sequence[str]) -> list[Cell]:
    """Return the cells of the last row; None for a column that is not there."""
    return [table.column(name)[-1] if name in table.columns and table.rows else None for name in names]


def _is_number(value: Cell) -> TypeGuard[float]:
    return isinstance(value, float) and value == value and abs(value) != float("inf")


ASQTAD = Physics(wrong=wrong, remarks=remarks)
