"""A recorded output in a rehearsal: it is printed and its counters are moved where it fits, else the reason is said."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from railyard.base.errors import RailyardError
from railyard.benchmarks.moved_bytes import Repetitions
from railyard.job.case import kept_test
from railyard.parsers import imb, osu
from railyard.provision.rehearsal import recorded_run
from railyard.provision.rehearsal.form import Fault, Rehearsal
from railyard.provision.replay.index import INDEX_NAME, recording_of, write_set
from railyard.results.run_folder import KeptTest
from railyard.rfm.checks.microbench import moved_repetitions, words_of
from railyard.verdict.assess import Assessment
from railyard.verdict.wording import IDLE_SECOND
from tests.made.records import made_record
from tests.provision.rehearsal.conftest import NODES, Bed, Ran

SIZES = (1, 4 << 20)
TOLD = Repetitions(20, 0)
WORDS = words_of(SIZES, TOLD, 64, validates=True)
GENUINE = "a genuine output of 2026-11-20, recorded in recordings/roomy"


def run(bed: Bed, rails: int = 2, nodes: tuple[str, ...] = ("n9", "n10"), words: list[str] = WORDS) -> Ran:
    (bed.root / "stage" / recorded_run.NOTE).unlink(missing_ok=True)
    for old in (bed.root / "stage/counters").glob("*"):
        old.unlink()
    return bed.run("openmpi", "osu", "osu_bw", words, rails=rails, nodes=nodes)


def assess_bandwidth(ran: Ran) -> Assessment:
    told = moved_repetitions(TOLD, validates=True)
    return ran.assess_run("osu/osu_bw", osu.parse, window=64, told=told, validates=True)


def stage_text(bed: Bed) -> str:
    return recorded_run.describe_stage(bed.root / "stage") or ""


def in_words(found: Assessment) -> tuple[str, str, str]:
    return found.verdict.state, found.verdict.text, found.path.state


@dataclass
class RecordedRun:
    """A folder with one recording, of a run that a stand-in made, as if the nodes were real ones."""

    bed: Bed
    found: Assessment
    text: str
    kept: KeptTest

    @property
    def folder(self) -> Path:
        return self.bed.root / "recordings/roomy"

    def write(self, kept: KeptTest | None) -> None:
        """Write the recording, with what was kept in place of its own."""
        test = replace(self.found.case.test, check="OsuBandwidth")
        said = None if kept is None else kept.to_text()
        one = recording_of(test, self.text, "recorded", "railyard record", "run r1", said)
        texts = {} if one.kept is None or said is None else {one.kept.file: said}
        write_set(self.folder, [(one, self.text)], kept_texts=texts)

    def play(self, *faults: Fault) -> None:
        """Let the next run play it."""
        nodes = tuple(self.bed.trees)
        Rehearsal("roomy", str(self.bed.root), str(self.bed.root), nodes, faults, recording=str(self.folder)).write()


@pytest.fixture
def record(bed: Bed) -> Callable[..., RecordedRun]:
    """Return a function that makes a recording of an osu_bw with these faults planted, and clears them."""

    def make_recording(*faults: Fault) -> RecordedRun:
        bed.plant(*faults)
        ran = run(bed)
        found = assess_bandwidth(ran)
        evidence = ran.evidence()
        kept = kept_test(found.case, evidence, WORDS, {}, (), "2026-11-20T08:00:00Z")
        # Another size and other bytes than a stand-in would make.
        text = ran.stdout.replace("made by a rehearsal, not a measurement", "OSU MPI Bandwidth Test of a real run")
        one = RecordedRun(bed, found, text, kept)
        one.write(kept)
        one.play()
        return one

    return make_recording


def test_the_recorded_output_is_printed_and_each_node_moves_what_its_recording_moved(
    bed: Bed, record: Callable[..., RecordedRun]
) -> None:
    one = record()
    more = replace(one.kept.nodes[1].devices[0], tx_bytes=12_345_600_000)
    other = replace(one.kept.nodes[1], devices=(more, *one.kept.nodes[1].devices[1:]))
    one.write(replace(one.kept, nodes=(one.kept.nodes[0], other)))
    ran = run(bed)
    assert ran.stdout == one.text
    assert stage_text(bed) == GENUINE
    assert assess_bandwidth(ran).path.nodes is not None
    then, now = one.found.path.nodes or {}, assess_bandwidth(ran).path.nodes or {}
    assert now["n9"] == then["n9"]
    sent = {row.device: row.tx_bytes for row in now["n10"]}
    assert sent["mlx5_0:1"] == 12_345_600_000
    assert sent["mlx5_1:1"] == {row.device: row.tx_bytes for row in then["n10"]}["mlx5_1:1"]


def test_the_verdict_of_a_healthy_run_is_the_recorded_one(bed: Bed, record: Callable[..., RecordedRun]) -> None:
    one = record()
    found = assess_bandwidth(run(bed))
    assert in_words(found) == in_words(one.found)
    assert (found.verdict.state, found.path.state) == ("report-only", "proven")


@pytest.mark.fault("path", "a recorded run in which one rail of a node idled is rehearsed", IDLE_SECOND)
def test_a_run_that_failed_its_path_fails_with_the_same_sentence(
    bed: Bed, record: Callable[..., RecordedRun], promise: str
) -> None:
    one = record(Fault("idle", "idle=n10/mlx5_1:1", "n10", "mlx5_1:1"))
    found = assess_bandwidth(run(bed))
    assert (found.verdict.state, found.verdict.rule) == ("fail", 4)
    assert promise in found.verdict.text
    assert in_words(found) == in_words(one.found)
    assert found.verdict.suspects == one.found.verdict.suspects


def test_errors_of_a_recorded_rail_grow_again(bed: Bed, record: Callable[..., RecordedRun]) -> None:
    one = record()
    first = one.kept.nodes[0]
    bad = replace(first.devices[0], grown={"symbol_error": 70_000})
    one.write(replace(one.kept, nodes=(replace(first, devices=(bad, *first.devices[1:])), one.kept.nodes[1])))
    found = assess_bandwidth(run(bed))
    assert (found.verdict.state, found.verdict.rule) == ("fail", 4)
    assert "errors on mlx5_0:1 of n9 during the run: symbol_error grew by 70000" in found.verdict.text


def test_bytes_of_a_network_that_no_rehearsed_node_has_go_over_the_management_network(
    bed: Bed, record: Callable[..., RecordedRun]
) -> None:
    one = record()
    first = one.kept.nodes[0]
    lacking = replace(first.devices[0], device="eno7", meant=False, tx_bytes=5_000_000_000, rx_bytes=0)
    one.write(replace(one.kept, nodes=(replace(first, devices=(*first.devices, lacking)), one.kept.nodes[1])))
    found = assess_bandwidth(run(bed))
    assert found.path.nodes is not None
    sent = {row.device: row.tx_bytes or 0 for row in found.path.nodes["n9"]}
    assert sent["eth0"] >= 5_000_000_000


OTHER_WORDS = words_of(SIZES, Repetitions(40, 0), 64, validates=True)


def of_more_nodes(kept: KeptTest) -> KeptTest:
    return replace(kept, nodes=kept.nodes * 2)


def unreadable(kept: KeptTest) -> KeptTest:
    first = kept.nodes[0]
    gone = replace(first.devices[0], tx_bytes=None, trouble="has no readable counter of bytes sent")
    return replace(kept, nodes=(replace(first, devices=(gone, *first.devices[1:])), kept.nodes[1]))


def of_another_rail(kept: KeptTest) -> KeptTest:
    first = kept.nodes[0]
    renamed = (first.devices[0], replace(first.devices[1], device="mlx5_2:1"), *first.devices[2:])
    return replace(kept, nodes=(replace(first, devices=renamed), kept.nodes[1]))


def test_a_recording_that_does_not_fit_is_not_played_and_the_reason_is_said(
    bed: Bed, record: Callable[..., RecordedRun]
) -> None:
    one = record()
    kept = one.kept
    for changed, reason in (
        (of_more_nodes(kept), "is of 4 nodes, this run has 2"),
        (unreadable(kept), "does not know what mlx5_0:1 of n9 moved: it has no readable counter of bytes sent"),
        (
            replace(kept, policy="nic-per-rank"),
            "was recorded with the rail policy nic-per-rank, this run has striping",
        ),
        (replace(kept, ranks_per_node=4), "has 4 ranks per node, this run has 1"),
        (of_another_rail(kept), "was to use mlx5_0:1 and mlx5_2:1, this run takes mlx5_0:1 and mlx5_1:1"),
        (
            replace(kept, words=tuple(OTHER_WORDS)),
            f"was given other repetitions ({' '.join(OTHER_WORDS)}) than this check gives today ({' '.join(WORDS)})",
        ),
        (replace(kept, words=("-m", "1:8388608", *WORDS[2:])), "was given other message sizes"),
        (replace(kept, words=(*WORDS, "-T", "mpi_float")), "was given other options"),
        (replace(kept, words=("-i", "many")), "was given words that cannot be read"),
        (None, "has no counters, since an older Railyard recorded it"),
    ):
        one.write(changed)
        ran = run(bed)
        assert "made by a rehearsal, not a measurement" in ran.stdout
        start = "made by the model: ndr/openmpi/2/OsuBandwidth.out "
        assert stage_text(bed).startswith(start + reason), stage_text(bed)


def test_a_case_that_was_not_recorded_is_made_by_the_model(bed: Bed, record: Callable[..., RecordedRun]) -> None:
    record()
    run(bed, rails=1)
    assert stage_text(bed) == (
        "made by the model: recordings/roomy has no recording of osu/osu_bw with openmpi over 1 rail of ndr"
    )


@pytest.mark.parametrize(
    ("fault", "plays"),
    [
        (Fault("slow", "rail=n10:mlx5_1,share=0.5", "n10", "mlx5_1:1", share=0.5), False),
        (Fault("fallback", "fallback=tcp"), False),
        (Fault("slow", "rail=n8:mlx5_1,share=0.5", "n8", "mlx5_1:1", share=0.5), True),
    ],
)
def test_a_planted_fault_on_its_nodes_keeps_a_recording_from_being_played(
    bed: Bed, record: Callable[..., RecordedRun], fault: Fault, plays: bool
) -> None:
    record().play(fault)
    run(bed)
    made = f"made by the model: {fault.text} is planted on its nodes, and recordings have no planted faults"
    assert stage_text(bed) == (GENUINE if plays else made)


def test_sizes_from_a_file_are_compared_with_those_that_were_recorded(bed: Bed) -> None:
    words = ["PingPong", "-npmin", "2", "-msglen", "sizes.txt", "-iter", "20,40", "-window_size", "1"]
    ran = bed.run("openmpi", "imb", "IMB-MPI1", words, files={"sizes.txt": "4\n1024\n"})
    found = ran.assess_run("imb/PingPong", imb.parse)
    kept = kept_test(found.case, ran.evidence(), words, {"sizes.txt": "4\n1024\n"}, (), "2026-11-20T08:00:00Z")
    one = RecordedRun(bed, found, ran.stdout, kept)
    one.write(one.kept)
    one.play()
    for sizes, expected in (("4\n1024\n", GENUINE), ("4\n2048\n", "was given other message sizes")):
        (bed.root / "stage" / recorded_run.NOTE).unlink(missing_ok=True)
        bed.run("openmpi", "imb", "IMB-MPI1", words, files={"sizes.txt": sizes})
        assert expected in stage_text(bed)


def test_what_is_no_recording_of_the_system_is_refused(record: Callable[..., RecordedRun]) -> None:
    one = record()
    assert [each.benchmark for each in recorded_run.playable_recordings(one.folder, "roomy")] == ["osu/osu_bw"]
    with pytest.raises(RailyardError, match="found recordings of roomy in recordings/roomy, expected those of ndr"):
        recorded_run.playable_recordings(one.folder, "ndr")
    with pytest.raises(RailyardError, match=r"recordings/index.json: found no such file, expected the index"):
        recorded_run.playable_recordings(one.folder.parent, "roomy")
    one.write(None)
    with pytest.raises(RailyardError, match="found 1 recording without counters in recordings/roomy, expected at"):
        recorded_run.playable_recordings(one.folder, "roomy")
    assert not list(one.folder.rglob("OsuBandwidth.json"))


@pytest.mark.fault("store", "a recording was changed after it was made, and rehearsed", "was changed after it was made")
@pytest.mark.parametrize("suffix", ["out", "json"])
def test_a_file_that_is_missing_or_changed_is_refused_and_never_played(
    bed: Bed, record: Callable[..., RecordedRun], suffix: str, promise: str
) -> None:
    one = record()
    file = one.folder / f"ndr/openmpi/2/OsuBandwidth.{suffix}"
    file.write_text(file.read_text(encoding="utf-8").replace("1", "2"), encoding="utf-8")
    with pytest.raises(RailyardError, match=f"OsuBandwidth.{suffix}: found SHA-256 .*{promise}"):
        recorded_run.playable_recordings(one.folder, "roomy")
    ran = run(bed)
    assert ran.exit_code == 1 and promise in ran.stderr and ran.stdout == ""
    file.unlink()
    with pytest.raises(RailyardError, match=f"OsuBandwidth.{suffix}: found no such file or directory, expected the r"):
        recorded_run.playable_recordings(one.folder, "roomy")


def test_what_was_kept_must_be_of_its_form(record: Callable[..., RecordedRun]) -> None:
    one = record()
    test = replace(one.found.case.test, check="OsuBandwidth")
    for text, message in (
        ('{"format": 2}', "OsuBandwidth.json: format: found 2, expected format 1"),
        ('{"format": 1}', "OsuBandwidth.json: time: found nothing, expected this key"),
    ):
        made = recording_of(test, one.text, "recorded", "railyard record", "run r1", text)
        write_set(one.folder, [(made, one.text)], kept_texts={"ndr/openmpi/2/OsuBandwidth.json": text})
        with pytest.raises(RailyardError, match=message):
            recorded_run.playable_recordings(one.folder, "roomy")


def test_an_index_that_names_another_file_is_refused(record: Callable[..., RecordedRun]) -> None:
    index = record().folder / INDEX_NAME
    text = index.read_text(encoding="utf-8").replace("OsuBandwidth.json", "../../../Other.json")
    index.write_text(text, encoding="utf-8")
    with pytest.raises(RailyardError, match=r"kept\.file: found .*Other\.json"):
        recorded_run.playable_recordings(index.parent, "roomy")


def test_the_last_lines_count_the_genuine_outputs_and_name_the_others() -> None:
    rehearsal = Rehearsal("roomy", "/home", "/folder", NODES, recording="/site/recordings/roomy")
    outputs = {"A": GENUINE, "B": "made by the model: it names its nodes, which recordings hide", "C": None}
    records = [made_record(case=case, rehearsed_output=said) for case, said in outputs.items()]
    assert list(recorded_run.summary(rehearsal, records)) == [
        "genuine outputs of recordings/roomy: in 1 of 3 tests",
        "B: made by the model: it names its nodes, which recordings hide",
    ]
    assert list(recorded_run.summary(replace(rehearsal, recording=""), records)) == []
