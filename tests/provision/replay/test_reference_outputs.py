"""Outputs from references: the committed recordings are equal to them, meet the numbers, and say what they are."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from railyard.base.errors import InputError
from railyard.benchmarks import metrics
from railyard.parsers import PARSERS
from railyard.provision.replay.form import WORDS, Recording, words_of
from railyard.provision.replay.index import INDEX_NAME, folder_of, match_index, read_index, write_set
from railyard.provision.replay.reference_outputs import published_outputs, read_model
from railyard.rfm.checks.catalogue import needs
from railyard.site.matrix import DEFAULT, Need, matrix, policy_of
from railyard.site.references.model import is_for
from railyard.site.site import Site, site_at
from railyard.site.systems.load import load_systems
from railyard.site.test_id import named_policy, with_policy

ROOT = Path(__file__).resolve().parents[3]
PUBLISHED = sorted(name for name, system in load_systems(ROOT / "systems").items() if system.provider == "replay")


@cache
def made_recordings(name: str) -> dict[str, tuple[Recording, str]]:
    outputs, _ = published_outputs(site_at(ROOT, name), needs(ROOT / "checks"))
    return {recording.file: (recording, text) for recording, text in outputs}


def test_published_systems_are_replayed_without_being_asked() -> None:
    assert "dell-c6320" in PUBLISHED


@pytest.mark.parametrize("name", sorted(path.parent.name for path in ROOT.glob(f"recordings/*/{INDEX_NAME}")))
def test_a_committed_index_that_is_read_and_written_again_is_the_same_to_the_byte(name: str, tmp_path: Path) -> None:
    committed = (folder_of(ROOT, name) / INDEX_NAME).read_bytes()
    folder = folder_of(tmp_path, name)
    folder.mkdir(parents=True)
    (folder / INDEX_NAME).write_bytes(committed)
    write_set(folder, ())
    assert (folder / INDEX_NAME).read_bytes() == committed


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_committed_recordings_are_what_is_computed_now(name: str) -> None:
    if not made_recordings(name):
        assert not folder_of(ROOT, name).exists()
        return
    index = read_index(folder_of(ROOT, name))
    assert {one.file for one in index.recordings} == set(made_recordings(name)), (
        f"railyard record --published {name} --replace makes them"
    )
    for one in index.recordings:
        recording, text = made_recordings(name)[one.file]
        assert one == recording
        assert (folder_of(ROOT, name) / one.file).read_text(encoding="utf-8") == text


@pytest.mark.parametrize("name", PUBLISHED)
def test_each_names_itself_and_its_entries(name: str) -> None:
    for recording, text in made_recordings(name).values():
        file = f"recordings/{name}/model.yaml" if recording.origin == "model" else f"references/{name}.yaml"
        assert recording.source.partition(": ")[0] == file
        place = (recording.fabric, recording.stack, recording.rails)
        policy = policy_of(site_at(ROOT, name).system, *place, named_policy(recording.check) or DEFAULT)
        test = replace(recording.test, policy=policy)
        drawn = any(is_for(curve, test) for curve in read_model(folder_of(ROOT, name)))
        assert drawn == (recording.origin == "model")
        words = WORDS[recording.origin].removeprefix("replayed: ")
        said = [line for line in text.splitlines() if words in line]
        assert len(said) == 1
        assert said[0].startswith("# ")


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_test_that_is_not_switched_off_has_a_recording(name: str) -> None:
    site = site_at(ROOT, name)
    cells = matrix(site.system, needs(ROOT / "checks"), site.references.has_number)
    run = {
        replace(cell.test, check=with_policy(cell.test.check, cell.test.policy if cell.named else None), policy="")
        for cell in cells
        if cell.reason is None
    }
    first = (one for one, _ in made_recordings(name).values() if "%.repeat_no=" not in one.check)
    assert run == {one.test for one in first}


#: fabric, check, metric, size in bytes, the published number
NUMBERS = [
    ("edr", "OsuBandwidth", "bandwidth", 4 << 20, 12400.0),
    ("fdr", "OsuBandwidth", "bandwidth", 4 << 20, 6300.0),
    ("edr", "OsuBidirectional", "bandwidth", 4 << 20, 24200.0),
    ("fdr", "OsuBidirectional", "bandwidth", 4 << 20, 10800.0),
    ("edr", "OsuLatency", "latency", 1, 0.80),
    ("fdr", "OsuLatency", "latency", 1, 0.81),
    ("edr", "OsuLatency", "latency", 4096, 2.75),
    ("fdr", "OsuLatency", "latency", 4096, 2.84),
]


@pytest.mark.parametrize(("fabric", "check", "metric", "size", "value"), NUMBERS)
def test_the_curves_meet_the_published_numbers(fabric: str, check: str, metric: str, size: int, value: float) -> None:
    recording, text = made_recordings("dell-c6320")[f"{fabric}/hpcx/1/{check}.out"]
    (table,) = PARSERS["osu"](text).tables
    curve = next(curve for curve in metrics.curves(table, recording.benchmark) if curve.metric == metric)
    assert curve.value_at(size) == value
    assert curve.sizes == tuple(1 << power for power in range(23))
    assert list(curve.values) == sorted(curve.values)
    assert match_index(folder_of(ROOT, "dell-c6320"), recording.test, text.encode()).problem is None


def test_a_model_draws_each_policy_and_the_repeats_of_a_run() -> None:
    """Named like ReFrame's tests: by a policy that is not the stack's own, and by the number of the repeat."""
    files = sorted(file for file in made_recordings("dual-rail-qdr") if file.startswith("qdr/mvapich2/2/OsuBandwidth"))
    assert files == [
        f"qdr/mvapich2/2/OsuBandwidth{policy}{repeat}.out"
        for policy in ("", "_policy=round-robin", "_policy=striping-8K")
        for repeat in ("", *(f"_.repeat_no={number}" for number in range(3)))
    ]
    first, _, low, high = (made_recordings("dual-rail-qdr")[file][1].splitlines()[-1] for file in files[:4])
    assert [line.split() for line in (first, low, high)] == [
        ["4194304", "6800.00"], ["4194304", "6766.00"], ["4194304", "6834.00"],
    ]  # fmt: skip


def test_a_figure_of_an_application_that_no_source_prints_is_normalised_and_says_so() -> None:
    """HPL over EDR and FDR: the source has one ratio, 0.33 %, and each output says that its figure is synthetic."""
    texts = {
        fabric: [
            text
            for file, (recording, text) in sorted(made_recordings("dell-c6320").items())
            if file.startswith(f"{fabric}/intelmpi/1/HplScaling_nodes=4") and recording.origin == "model"
        ]
        for fabric in ("edr", "fdr")
    }
    figures = {fabric: [PARSERS["hpl"](text).tables[0].rows[0][-2] for text in each] for fabric, each in texts.items()}
    assert figures["edr"][:3] == [1003.3, 1003.3, 998.28]
    assert figures["fdr"][:3] == [1000.0, 1000.0, 1005.0]
    assert all("the figure is made, no source prints one" in text for each in texts.values() for text in each)


@pytest.fixture
def dell() -> Site:
    return site_at(ROOT, "dell-c6320")


def test_a_test_without_a_number_is_left_out_with_the_reason(dell: Site) -> None:
    asked = (
        Need("OsuBcast", "osu", "osu/osu_bcast", 2),
        Need("Write", "perftest", "perftest/ib_write_lat", 2, smallest=2, largest=1 << 20, pair=True),
    )
    nothing_off = replace(dell, system=dell.system.model_copy(update={"disabled": ()}))
    outputs, left = published_outputs(nothing_off, asked)
    assert [(one.fabric, one.check) for one, _ in outputs] == [("edr", "Write"), ("fdr", "Write")]
    assert [(words_of(one.test), one.reason) for one in left] == [
        (
            f"OsuBcast (osu/osu_bcast) with hpcx over 1 rail of {fabric}",
            "references/dell-c6320.yaml has no number for osu/osu_bcast here",
        )
        for fabric in ("edr", "fdr")
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("system: elsewhere\n", '1: system: found "elsewhere", expected "{name}", the name of the folder'),
        (
            "system: {name}\nsays: drawn\ncurves:\n  - {{id: a, fabric: edr, benchmark: osu/osu_bw, metric: bandwidth, "
            "curve: {{4K: 1, 1K: 2}}}}\n",
            "4: curves[0].curve: found sizes that do not rise, expected rising sizes",
        ),
        (
            "system: {name}\nsays: drawn\ncurves:\n  - {{id: a, fabric: edr, benchmark: hpl/hpl, metric: performance, "
            "curve: {{4K: 1}}}}\n",
            "4: curves[0]: found a curve, expected a figure alone, of hpl/hpl",
        ),
        (
            "system: {name}\nsays: drawn\ncurves:\n  - {{id: a, fabric: edr, benchmark: osu/osu_bw, metric: bandwidth}}"
            "\n",
            "4: curves[0]: found no curve, expected a curve alone, of osu/osu_bw",
        ),
        (
            "system: {name}\nsays: drawn\ncurves:\n  - {{id: a, fabric: edr, benchmark: [osu/osu_bw, hpl/hpl], metric: "
            "bandwidth, figure: 1}}\n",
            "4: curves[0].benchmark: found applications beside benchmarks of message sizes, expected one kind, which "
            "figure or curve is for",
        ),
    ],
)
def test_a_model_that_is_wrong_is_said(text: str, sentence: str, tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "somewhere")
    folder.mkdir(parents=True)
    rest = (
        ""
        if "says" in text
        else "says: drawn\ncurves:\n  - {{id: a, fabric: edr, benchmark: osu/osu_bw, "
        + ("metric: bandwidth, curve: {{4K: 1}}}}\n")
    )
    (folder / "model.yaml").write_text((text + rest).format(name="somewhere"), encoding="utf-8")
    with pytest.raises(InputError) as refused:
        read_model(folder)
    assert str(refused.value) == f"recordings/somewhere/model.yaml:{sentence.format(name='somewhere')}"


def test_the_same_references_give_the_same_bytes(dell: Site) -> None:
    asked = needs(ROOT / "checks")
    assert published_outputs(dell, asked) == published_outputs(dell, asked)
