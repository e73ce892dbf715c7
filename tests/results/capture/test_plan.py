"""From runs to the text of a table: what is added, what stays, what is refused, and that it loads."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from railyard.results.capture import CaptureRequest, Plan, plan
from railyard.results.record.form import CurveRecord, Record
from railyard.site.conditions import why_unreadable
from railyard.site.references.load import References, load_references
from railyard.site.systems.model import System

Run = Callable[..., Record]
SIZES = (1, 65536, 4194304)
ID = "baseline-edr-hpcx-1-rail-osu-osu_bw-bandwidth"
ENTRY = f"""\
  - id: {ID}
    fabric: edr
    stack: hpcx
    rails: 1
    policy: single
    benchmark: osu/osu_bw
    metric: bandwidth
    unit: MB/s
    kind: baseline
    curve:
      1: 5.002
      64K: 11006
      4M: 12106
    tolerance:
      latency: {{low: 0.02}}
      middle: {{low: 0.02}}
      bandwidth: {{low: 0.02}}
    source:
      document: median of 6 runs, by railyard capture
      date: 2026-11-03
      hardware: "EPYC 9354: 32 cores"
      firmware: "20.31.1014"
      driver: "mlx5_core 5.8"
      mpi: "mpirun (Open MPI) 4.1.5"
      benchmark_version: "7.4"
      conditions:
        repeats: "6 on 3 sets of nodes in 6 jobs, 2026-11-01 to 2026-11-03"
        processor: "EPYC 9354: 32 cores"
        kernel: "6.1.0"
        smt: "off"
      runs:
        - 20261101T000000Z-aa00
        - 20261101T010000Z-aa01
        - 20261102T020000Z-aa02
        - 20261102T030000Z-aa03
        - 20261103T040000Z-aa04
        - 20261103T050000Z-aa05
"""


def capture_plan(
    site: Path, system: System, records: tuple[Record, ...], *, quick: bool = False, replace: bool = False
) -> Plan:
    path = site / "references" / "site.yaml"
    references = load_references(path, system) if path.exists() else References(system)
    return plan(system, path, references, records, CaptureRequest(quick=quick, replace=replace))


def write(made: Plan) -> None:
    made.path.parent.mkdir(exist_ok=True)
    made.path.write_text(made.after, encoding="utf-8")


def test_the_entry_stands_behind_the_last_and_every_other_line_stays(
    site: Path, system: System, made_runs: tuple[Record, ...]
) -> None:
    made = capture_plan(site, system, made_runs)
    assert made.refused == ()
    assert made.before is not None
    assert made.after == made.before.replace("\n\n# the end\n", f"\n\n{ENTRY}\n# the end\n")
    write(made)
    loaded = load_references(made.path, system)
    assert [(entry.id, entry.kind) for entry in loaded.entries] == [("edr-bw", "contract"), (ID, "baseline")]


def test_the_first_table_of_a_system_is_made(site: Path, system: System, made_runs: tuple[Record, ...]) -> None:
    (site / "references" / "site.yaml").unlink()
    made = capture_plan(site, system, made_runs)
    assert made.before is None
    assert made.after == (f"# yaml-language-server: $schema=schema.json\nsystem: site\nentries:\n{ENTRY}")


def test_an_entry_that_is_there_is_replaced_only_where_it_is_asked(
    site: Path, system: System, made_runs: tuple[Record, ...]
) -> None:
    write(capture_plan(site, system, made_runs))
    again = capture_plan(site, system, made_runs)
    assert (again.entries, again.after) == ((), again.before)
    assert again.refused == (
        f"osu/osu_bw over edr with hpcx, 1 rail, single, bandwidth: found {ID} already, expected none; "
        "use --replace to put the new one in its place",
    )
    faster = tuple(
        record.with_fields(
            curves=tuple(replace(c, values=tuple(v / 1.01 for v in c.values)) for c in record.found.curves)
        )
        for record in made_runs
    )
    replaced = capture_plan(site, system, faster, replace=True)
    assert replaced.refused == ()
    assert replaced.before is not None
    assert replaced.after == replaced.before.replace("1: 5.002", "1: 4.953").replace(
        "64K: 11006", "64K: 10897"
    ).replace("4M: 12106", "4M: 11986")


def test_a_contract_is_never_replaced(site: Path, system: System, made_runs: tuple[Record, ...]) -> None:
    path = site / "references" / "site.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("id: edr-bw", f"id: {ID}"), encoding="utf-8")
    made = capture_plan(site, system, made_runs, replace=True)
    assert (made.entries, made.after) == ((), made.before)
    assert made.refused == (
        f"osu/osu_bw over edr with hpcx, 1 rail, single, bandwidth: found {ID}, a contract entry, expected none or a "
        "baseline; no capture replaces it",
    )


def test_a_baseline_of_another_name_or_for_more_is_left_to_a_person(
    site: Path, system: System, made_runs: tuple[Record, ...]
) -> None:
    write(capture_plan(site, system, made_runs))
    path = site / "references" / "site.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace(ID, "mine"), encoding="utf-8")
    made = capture_plan(site, system, made_runs, replace=True)
    assert made.entries == ()
    assert made.refused == (
        "osu/osu_bw over edr with hpcx, 1 rail, single, bandwidth: found the baseline mine, which is for this test and "
        f"perhaps others, expected {ID} or none; remove it, or edit it by hand",
    )


def test_a_quick_capture_is_marked(site: Path, system: System, made_runs: tuple[Record, ...]) -> None:
    one_pair = tuple(record.with_fields(nodes=("n1", "n2")) for record in made_runs)
    assert capture_plan(site, system, one_pair).entries == ()
    (entry,) = capture_plan(site, system, one_pair, quick=True).entries
    assert "        capture: quick\n" in entry.text


def test_an_outlier_is_kept_and_named(site: Path, system: System, made_run: Run) -> None:
    slow = made_run(5).with_fields(
        curves=tuple(replace(c, values=(5.0, 11000.0, 11840.0)) for c in made_run(5).found.curves)
    )
    (entry,) = capture_plan(site, system, (*(made_run(n) for n in range(5)), slow)).entries
    assert entry.remarks == ("kept though far off: run 20261103T050000Z-aa05, -2.1 % at 4 MiB",)
    assert 'note: "kept though far off: run 20261103T050000Z-aa05, -2.1 % at 4 MiB"' in entry.text


def test_sizes_that_are_not_asserted_are_named_as_ranges(
    site: Path, system: System, made_runs: tuple[Record, ...]
) -> None:
    sizes = (1, 2, 4, 8, 65536, 4194304)
    wild = tuple(
        r.with_fields(curves=(CurveRecord("bandwidth", "MB/s", sizes, (1 + n, 2 + n, 3 + n, 4 + n, 5 + n, 12000.0)),))
        for n, r in enumerate(made_runs)
    )
    (entry,) = capture_plan(site, system, wild).entries
    assert entry.remarks == ("not asserted, because the repeats spread too far: 1 B to 64 KiB",)


def test_repeats_that_do_not_agree_are_refused_with_the_run_to_look_at(
    site: Path, system: System, made_run: Run
) -> None:
    broken = made_run(5).with_fields(
        curves=tuple(replace(c, values=(2.0, 5000.0, 6000.0)) for c in made_run(5).found.curves)
    )
    made = capture_plan(site, system, (*(made_run(n) for n in range(5)), broken))
    assert made.refused == (
        "osu/osu_bw over edr with hpcx, 1 rail, single, bandwidth: found repeats that spread too far at every size, "
        "expected a size at which they agree; "
        "far off: 20261103T050000Z-aa05 (-60.0 %); leave such a run out with --without RUN",
    )


def test_a_median_above_the_limit_is_written_as_the_limit(
    site: Path, system: System, made_runs: tuple[Record, ...]
) -> None:
    fast = tuple(
        r.with_fields(curves=tuple(replace(c, values=(5.0, 11000.0, 12430.0)) for c in r.found.curves))
        for r in made_runs
    )
    made = capture_plan(site, system, fast)
    assert made.entries[0].remarks == ("12430 at 4 MiB is above the physical limit, so the limit is written",)
    write(made)
    load_references(made.path, system)


def test_other_units_are_converted_or_refused_by_run(site: Path, system: System, made_runs: tuple[Record, ...]) -> None:
    def in_unit(unit: str, factor: float) -> tuple[Record, ...]:
        return tuple(
            r.with_fields(
                curves=(CurveRecord("bandwidth", unit, SIZES, tuple(v / factor for v in r.found.curves[0].values)),)
            )
            for r in made_runs
        )  # fmt: skip

    (entry,) = capture_plan(site, system, in_unit("GB/s", 1000)).entries
    assert entry.text == ENTRY
    assert capture_plan(site, system, in_unit("us", 1)).refused == (
        "osu/osu_bw over edr with hpcx, 1 rail, single, bandwidth: run 20261101T000000Z-aa00: bandwidth: found the "
        "unit us (time), expected MB/s (bandwidth) or one like it",
    )


def test_sizes_that_some_runs_lack_are_not_asserted(site: Path, system: System, made_runs: tuple[Record, ...]) -> None:
    short = made_runs[0].with_fields(curves=(CurveRecord("bandwidth", "MB/s", (1, 4194304), (5.0, 12100.0)),))
    (entry,) = capture_plan(site, system, (short, *made_runs[1:])).entries
    assert "      1: 5.0" in entry.text and "64K" not in entry.text


def test_of_a_ping_pong_small_sizes_are_held_by_time_and_large_ones_by_rate(
    site: Path, system: System, made_runs: tuple[Record, ...]
) -> None:
    both = tuple(
        r.with_fields(
            benchmark="imb/PingPong",
            curves=(
                CurveRecord("bandwidth", "MB/s", (8, 8192, 4194304), (4.0, 3000.0, 12000.0)),
                CurveRecord("latency", "us", (8, 8192, 4194304), (2.0, 2.7, 349.0)),
            ),
        )
        for r in made_runs
    )
    rate, time = capture_plan(site, system, both).entries
    assert "    curve:\n      4M: 12000\n    tol" in rate.text
    assert "    curve:\n      8: 2.000\n      8K: 2.700\n    tol" in time.text


def test_a_fabric_that_was_renamed_is_a_sentence(site: Path, system: System, made_runs: tuple[Record, ...]) -> None:
    made = capture_plan(site, system, tuple(record.with_fields(fabric="fdr") for record in made_runs))
    assert made.refused == (
        'osu/osu_bw over fdr with hpcx, 1 rail, single: found the fabric "fdr", expected one of systems/site.yaml',
    )


@pytest.mark.parametrize("head", ["", "relations: []\n"])
def test_an_entry_goes_before_what_follows_the_entries(
    site: Path, system: System, made_runs: tuple[Record, ...], head: str
) -> None:
    path = site / "references" / "site.yaml"
    text = path.read_text(encoding="utf-8").replace("# the end\n", f"# of facts\n{head}facts: []\n")
    path.write_text(text, encoding="utf-8")
    made = capture_plan(site, system, made_runs)
    assert made.after == text.replace("\n\n# of facts", f"\n\n{ENTRY}\n# of facts")


def test_a_condition_in_which_the_runs_were_not_alike_has_all_its_values(
    site: Path, system: System, made_runs: tuple[Record, ...]
) -> None:
    (group,) = made_runs[0].where.hardware
    facts = {**group.facts, "turbo": "on", "c_states": "POLL C1 C6", "memory": "263921504 kB"}
    alike = [one.with_fields(hardware=(replace(group, facts=facts),)) for one in made_runs]
    odd = alike[0].with_fields(hardware=(replace(group, facts={**facts, "turbo": "off"}),))
    found = capture_plan(site, system, (odd, *alike[1:]))
    write(found)
    (made,) = [entry for entry in load_references(found.path, system).entries if entry.kind == "baseline"]
    stated = made.source.conditions
    assert {name: stated[name] for name in ("turbo", "c-states", "memory", "smt")} == {
        "turbo": "off or on",
        "c-states": "on",
        "memory": "252 GiB",
        "smt": "off",
    }
    assert [why_unreadable(name, text) for name, text in stated.items()] == [None] * len(stated)
