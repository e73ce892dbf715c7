"""benchmarks/fuzz.py finds planted errors: a fuzzer that finds nothing may not look at anything."""

import importlib
import json
import random
from pathlib import Path
from typing import Any

import pytest

from railyard.parsers import osu

ROOT = Path(__file__).resolve().parents[2]
HEAD = "# OSU MPI Bandwidth Test v7.4\n# Size      Bandwidth (MB/s)\n"
#: As a healthy EDR link gives it.
SWEEP = HEAD + "".join(f"{2**n:<10}{2**n / (0.3 + 2**n / 12300):20.2f}\n" for n in range(23))


@pytest.fixture
def fuzzing(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return an import path to the modules below benchmarks/, which is not a package."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module


def test_a_short_form_has_the_first_and_last_rows_of_a_sweep_and_every_other_line(fuzzing: Any) -> None:
    lines = SWEEP.split("\n")
    assert fuzzing("fuzzing.samples").shorten(SWEEP).split("\n") == [*lines[:5], *lines[-3:]]
    steps = [line for n in range(9) for line in (f"step {n}", f"took {n} s")]
    short = fuzzing("fuzzing.samples").shorten("\n".join([*steps, "end"])).split("\n")
    assert short == [*steps[:6], *steps[-4:], "end"]


def test_a_sample_is_shortened_only_where_its_tables_stay_the_same(fuzzing: Any) -> None:
    samples = fuzzing("fuzzing.samples")
    rows = "".join(f"{n:>3}: {n + 1:>7} bytes   1000 times -->      1.00 Mbps in      8.00 usec\n" for n in range(20))
    whole = samples.sample_of("netpipe", "made", f"Now starting the main loop\n{rows}")
    assert whole.whole.tables[0].complete
    # without the rows between, its index would jump and the table be incomplete
    assert next(samples._small(whole, samples.Counter())) == whole


def test_every_tool_that_has_a_sample_still_has_one(fuzzing: Any) -> None:
    samples = fuzzing("fuzzing.samples")
    loaded = samples.load([])
    assert {sample.tool for sample in loaded.small} == {*samples.EVERY}
    assert all(len(sample.text) <= samples.LARGEST for sample in loaded.small)


def test_a_share_follows_from_seed_and_number_and_a_file_of_shares_is_gone_on_from(
    fuzzing: Any, tmp_path: Path
) -> None:
    tally, reading = fuzzing("fuzzing.tally"), fuzzing("fuzzing.reading")
    samples = fuzzing("fuzzing.samples").load([])
    texts = [[reading.mutate(random.Random(f"3/{n}"), samples)[1] for n in range(20)] for _ in range(2)]
    assert texts[0] == texts[1]
    file, run = tmp_path / "runs" / "shares.jsonl", {"seed": 3, "samples": tally.digest_of_samples(samples)}
    assert tally.read_shares(file, run) == {}
    one = tally.Tally()
    one.count("osu", "text", ("cut", "cut"))
    one.note(("osu", "kind"), "said", "text")
    tally.keep(file, 4, one)
    whole = file.read_text()
    file.write_text(whole + '{"share": 5, "inp')
    done = tally.read_shares(file, run)
    assert (list(done), done[4].to_json(), file.read_text()) == ([4], one.to_json(), whole)
    with pytest.raises(ValueError, match=r"shares\.jsonl: found shares of .*; name another file"):
        tally.read_shares(file, {**run, "seed": 4})
    assert json.loads(whole.split("\n")[0]) == run


@pytest.mark.parametrize(
    ("planted", "how", "text", "said"),
    [
        ("a value that is not there", ("cut",), SWEEP[:-4], ", in the whole "),
        ("an exception", ("order",), SWEEP, "IndexError"),
        ("a table without rows", ("order",), HEAD, "no row"),
        ("no fault", ("cut",), SWEEP[:-4], None),
    ],
)
def test_a_fault_that_is_planted_in_a_parser_is_found(
    fuzzing: Any, monkeypatch: pytest.MonkeyPatch, planted: str, how: tuple[str, ...], text: str, said: str | None
) -> None:
    reading, samples = fuzzing("fuzzing.reading"), fuzzing("fuzzing.samples")
    sample = samples.sample_of("osu", "made", SWEEP)
    assert sample is not None

    def spoiled_parse(text: str) -> Any:
        if planted == "an exception":
            return [][0]
        if planted == "a value that is not there":
            return osu.parse(f"{text}9\n8388608             9.00\n")
        if planted == "a table without rows":
            table = sample.whole.tables[0]
            return type(sample.whole)((type(table)("osu", None, None, table.columns, table.units, (), 1, True),))
        return osu.parse(text)

    monkeypatch.setitem(samples.EVERY, "osu", spoiled_parse)
    if planted == "an exception":
        fuzz, tally = fuzzing("fuzz"), fuzzing("fuzzing.tally").Tally()
        fuzz._read_one(random.Random(1), samples.Samples([sample], []), tally, False)
        assert [kind[1] for kind in tally.found] == ["IndexError at test_fuzzing.py:N: list index out of range"]
        return
    found = reading.wrong(sample, text, how)
    assert found is None if said is None else said in found


def test_an_input_that_was_made_before_is_not_read_again_and_counts_as_it_did(fuzzing: Any) -> None:
    fuzz, tally = fuzzing("fuzz"), fuzzing("fuzzing.tally").Tally()
    sample = fuzzing("fuzzing.samples").sample_of("osu", "made before", SWEEP)
    asked = []

    def ask(sample: Any, text: str, how: tuple[str, ...]) -> str:
        asked.append((text, how))
        return "refused"

    inputs = [
        ("a", ("cut",)),
        ("a", ("cut",)),
        ("a", ("noise",)),
        ("a", ("splice",)),
        ("a", ("splice",)),
        ("b", ("cut",)),
    ]
    assert {fuzz._ask_once(ask, sample, *one, tally) for one in inputs} == {"refused"}
    assert (asked, tally.repeated) == ([inputs[0], *inputs[2:]], 1)


def test_a_pass_that_the_whole_lacks_is_found(fuzzing: Any) -> None:
    samples, judging = fuzzing("fuzzing.samples"), fuzzing("fuzzing.passing_outputs")
    sample = samples.sample_of("osu", "made", SWEEP)
    other = samples.sample_of("osu", "other", SWEEP.replace("12278.40", "12278.30"))
    judged = judging.judge_samples(samples.Samples([sample, other], []))
    assert judged.standards["made", SWEEP].link == "ib-edr"
    assert judged.wrong(sample, SWEEP, ("order",)) is None
    lower = SWEEP.replace("12289.19", "12000.00")
    assert lower != SWEEP
    assert "passes with another curve" in judged.wrong(sample, lower, ("order",))
    # a value of the other output counts as printed only if lines were mixed in
    assert judged.wrong(sample, other.text, ("mix_outputs",)) is None
    assert "passes with another curve" in judged.wrong(sample, other.text, ("order",))
    assert "passes with another curve" in judged.wrong(sample, lower, ("mix_outputs",))
