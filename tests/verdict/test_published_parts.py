"""In every replay, a figure without a mark was printed by a source; computed figures are marked."""

from collections.abc import Iterator
from datetime import date
from typing import Any

import pytest

from railyard.base.strict_yaml import load
from railyard.benchmarks.model import Curve, Figure
from railyard.cli.commands.judge import read
from railyard.provision.replay.form import Recording, words_of
from railyard.provision.replay.index import folder_of, read_index
from railyard.results.record.form import Record
from railyard.rfm.checks.catalogue import needs
from railyard.site.matrix import Need
from railyard.site.site import Site, site_at
from railyard.site.test_id import TestId
from railyard.verdict.assess import ComputedSizes, is_printed, record_of
from tests.conftest import ROOT
from tests.verdict.test_one_judge import OF_A_CHECK, SYSTEMS, run_again

#: An output has few decimals.
ROUNDED = 0.005
TIME = date(2026, 11, 23).isoformat()


@pytest.fixture(scope="module")
def needs_by_check() -> dict[str, Need]:
    return {need.check: need for need in needs(ROOT / "checks")}


def replay_record(site: Site, one: Recording, asked: dict[str, Need]) -> Record:
    """Return the record of a replay of a recording."""
    need = asked[one.check.split(" %policy")[0].split(" %.repeat_no")[0]]
    folder = folder_of(ROOT, site.system.system)
    text, parsed = (folder / one.file).read_text(encoding="utf-8"), read(str(folder / one.file))
    found = run_again(site, one, need, text, parsed, None)
    return record_of(found, run="r", time=TIME, elapsed_s=1.0, environment={}, command=(), output=None)


def entry_ranges(system: str, fabric: str, metric: str) -> list[tuple[int | None, float, float]]:
    """Return (size or None, low, high) for all entries of the system's file for a metric over a fabric, as read."""
    found: list[tuple[int | None, float, float]] = []
    path = ROOT / "references" / f"{system}.yaml"
    entries: list[dict[str, Any]] = load(path, path.name).data["entries"]
    for entry in entries:
        if (entry["fabric"], entry["metric"]) != (fabric, metric) or entry["kind"] == "class":
            continue
        if isinstance(entry.get("range"), list):
            found.append((None, *entry["range"]))
        found += [
            (None, entry[name], entry[name]) for name in ("value", "floor") if isinstance(entry.get(name), float | int)
        ]
        found += [(bytes_of(size), value, value) for size, value in entry.get("curve", {}).items()]
    return found


def bytes_of(size: int | str) -> int:
    if isinstance(size, int):
        return size
    return int(size[:-1]) << {"K": 10, "M": 20, "G": 30}[size[-1]]


def source_figures(record: Record) -> Iterator[tuple[str, int, float]]:
    """Yield metric, size and value of all figures that the record shows as its source's."""
    for curve in record.found.curves:
        shown = zip(curve.sizes, curve.values, strict=True)
        yield from ((curve.metric, size, value) for size, value in shown if size not in curve.computed)


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_figure_of_a_replay_that_is_not_marked_is_in_an_entry(
    system: str, needs_by_check: dict[str, Need]
) -> None:
    site, count = site_at(ROOT, system), 0
    for one in read_index(folder_of(ROOT, system)).recordings:
        if one.benchmark.startswith(OF_A_CHECK):
            continue
        record = replay_record(site, one, needs_by_check)
        values = list(source_figures(record))
        count += len(values)
        for metric, size, value in values:
            held = entry_ranges(system, one.fabric, metric)
            assert any(
                at in (None, size) and low * (1 - ROUNDED) <= value <= high * (1 + ROUNDED) for at, low, high in held
            ), f"{words_of(one.test)}: {metric} {value} at {size} B is in no entry"
        for figure in record.found.figures:
            if figure.computed:
                continue
            assert any(
                abs(value - figure.value) <= ROUNDED * value and figure.size in (None, size)
                for _, size, value in values
            ), f"{words_of(one.test)}: {figure}"
        if one.origin == "computed":
            assert values, f"{words_of(one.test)}: nothing of it is published"
    assert count or system == "dual-rail-qdr"


def cell_record(system: str, fabric: str, stack: str, check: str, asked: dict[str, Need]) -> Record:
    index = read_index(folder_of(ROOT, system))
    one = next(each for each in index.recordings if (each.fabric, each.stack, each.check) == (fabric, stack, check))
    return replay_record(site_at(ROOT, system), one, asked)


def test_between_its_points_a_curve_was_computed(needs_by_check: dict[str, Need]) -> None:
    record = cell_record("dell-c6320", "edr", "hpcx", "OsuBandwidth", needs_by_check)
    (curve,) = record.found.curves
    assert set(curve.sizes) - set(curve.computed) == {4 << 20}
    assert [(figure.name, figure.computed) for figure in record.found.figures] == [("peak", False), ("n_half", True)]
    assert (record.found.figures[0].value, record.found.figures[0].size) == (12400, 4 << 20), (
        "the curve is level from 1 MiB on"
    )


def test_a_latency_that_no_source_printed_is_left_out(needs_by_check: dict[str, Need]) -> None:
    for fabric, peak_mb_s in (("sci", 117.96), ("tengige", 484.97)):
        record = cell_record("survey-2004", fabric, "tcp", "NetpipeTcpPingPong", needs_by_check)
        assert [(figure.name, figure.computed) for figure in record.found.figures] == [("peak", False)]
        assert record.found.figures[0].value == pytest.approx(peak_mb_s, rel=ROUNDED)
        assert {curve.metric: (curve.sizes, curve.computed) for curve in record.found.curves} == {
            "bandwidth": ((4 << 20,), ()),
            "latency": ((4 << 20,), (4 << 20,)),
        }


def test_both_ends_of_a_range_and_all_between_are_the_sources(needs_by_check: dict[str, Need]) -> None:
    record = cell_record("survey-2004", "myrinet", "mpich", "NetpipePingPong", needs_by_check)
    latency = next(curve for curve in record.found.curves if curve.metric == "latency")
    assert {1, 8} <= set(latency.sizes) - set(latency.computed) <= {1, 2, 3, 4, 6, 8}
    entries = site_at(ROOT, "survey-2004").references.entries
    test = TestId("myrinet", "mpich", 1, "netpipe/pingpong", policy="single")
    found = {us: is_printed(entries, test, "latency", 1, us) for us in (5.9, 6.0, 6.5, 7.0, 7.1)}
    assert found == {5.9: False, 6.0: True, 6.5: True, 7.0: True, 7.1: False}
    assert not is_printed(entries, test, "latency", 16, 6.5), "the entry ends at 8 B"


def test_a_measurement_has_no_mark() -> None:
    figures = (Figure("peak", 47.8, "MB/s", 4 << 20), Figure("n_half", 900.0, "B"))
    assert ComputedSizes().mark(figures, "imb/PingPong") == figures
    curve = Curve("bandwidth", "MB/s", (1,), (1.0,))
    assert ComputedSizes().without_invented((curve,)) == (curve,)
