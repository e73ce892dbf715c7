"""Recordings on disk: what is played is compared with the index, and each error is a sentence."""

import hashlib
import json
from pathlib import Path

import pytest

from railyard.base.errors import InputError, SetupError
from railyard.provision.replay.form import REPLAYED, PlayedTest, file_of
from railyard.provision.replay.index import folder_of, match_index, read_index, recording_of, replay_origin, write_set
from railyard.site.test_id import TestId, check_of

CELL = TestId("edr", "hpcx", 1, "osu/osu_bw", "OsuBandwidth")
FILE = "edr/hpcx/1/OsuBandwidth.out"
TEXT = "# OSU MPI Bandwidth Test v7.4\n# Size      Bandwidth (MB/s)\n4194304          12400.00\n"
NAME = f"recordings/somewhere/{FILE}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A set of one recording."""
    made = folder_of(tmp_path, "somewhere")
    write_set(made, [(recording_of(CELL, TEXT, "recorded", "railyard record", "run 1"), TEXT)])
    return made


def test_what_is_whole_and_as_listed_is_played(folder: Path) -> None:
    found = match_index(folder, CELL, TEXT.encode())
    assert found.problem is None
    assert found.words == "replayed: recorded in an earlier run, not measured now"
    assert found.provenance == {
        "recording": {
            "file": FILE,
            "sha256": hashlib.sha256(TEXT.encode()).hexdigest(),
            "origin": "recorded",
            "made_by": "railyard record",
            "source": "run 1",
        }
    }
    assert (folder / FILE).read_text(encoding="utf-8") == TEXT


def problem(folder: Path, cell: TestId = CELL, printed: str = TEXT) -> str | None:
    return match_index(folder, cell, printed.encode()).problem


def test_one_for_another_benchmark_is_refused(folder: Path) -> None:
    latency = TestId("edr", "hpcx", 1, "osu/osu_latency", "OsuBandwidth")
    assert problem(folder, latency) == f"{NAME}: found a recording of osu/osu_bw, expected one of osu/osu_latency"


@pytest.mark.fault("store", "a recording that is cut", "expected 85: the recording is cut")
def test_one_that_is_cut_is_refused(folder: Path, promise: str) -> None:
    (folder / FILE).write_text(TEXT[:40], encoding="utf-8")
    assert problem(folder, printed=TEXT[:40]) == f"{NAME}: found 40 bytes, {promise}"


@pytest.mark.fault("store", "a faster number written into a recording", "the recording was changed after it was made")
def test_one_that_was_tampered_with_is_refused(folder: Path, promise: str) -> None:
    faster = TEXT.replace("12400", "14200")
    (folder / FILE).write_text(faster, encoding="utf-8")
    found = problem(folder, printed=faster)
    assert found is not None
    assert found.startswith(f"{NAME}: found SHA-256 ")
    assert found.endswith(f"…: {promise}")


def test_one_that_is_missing_is_said_where_the_index_lists_it(folder: Path) -> None:
    (folder / FILE).unlink()
    assert problem(folder, printed="") == (
        f"{NAME}: found no such file or directory, expected the recording that the index lists"
    )


def test_a_test_without_a_recording_is_said(folder: Path) -> None:
    found = match_index(folder, TestId("fdr", "hpcx", 2, "osu/osu_bw", "OsuBandwidth"), b"")
    assert found == PlayedTest(
        None,
        "recordings/somewhere: found no recording of OsuBandwidth (osu/osu_bw) with hpcx over 2 rails of fdr, expected "
        "one; record a run of it, or switch it off in systems/somewhere.yaml (disabled) with the reason",
    )
    assert found.words == REPLAYED


def test_a_job_that_printed_something_else_is_said(folder: Path) -> None:
    assert problem(folder, printed=TEXT + "and more\n") == (
        f"{NAME}: the job printed 94 bytes, expected exactly the recording's 85"
    )


def index_text(folder: Path, **changes: object) -> str:
    data = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    return json.dumps(data | changes)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "found no readable JSON (Expecting property name enclosed in double quotes: line 1 column 2 (char 1)), "
              "expected the index of the recordings"),
        ("[]", "format: found no object, expected format 1"),
        ('{"format": 2}', "format: found 2, expected format 1"),
        ('{"format": 1}', "system: found nothing, expected this key"),
        ('{"format": 1, "system": "somewhere", "recordings": [{}]}',
         "recordings[0].fabric: found nothing, expected this key"),
    ],
)  # fmt: skip
def test_an_index_that_is_none_is_one_sentence(folder: Path, text: str, sentence: str) -> None:
    (folder / "index.json").write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as refused:
        read_index(folder)
    make = "make the recordings of somewhere with `railyard record`"
    head = "recordings/somewhere/index.json: "
    assert str(refused.value) == f"{head}{sentence}; {make}"
    assert problem(folder) == str(refused.value)


def test_an_index_of_another_system_or_with_a_foreign_file_is_refused(folder: Path) -> None:
    (folder / "index.json").write_text(index_text(folder, system="elsewhere"), encoding="utf-8")
    assert problem(folder) == (
        'recordings/somewhere/index.json: system: found recordings of "elsewhere", expected "somewhere"'
    )
    entry = json.loads(index_text(folder))["recordings"][0] | {"file": "../../systems/virtual.yaml"}
    (folder / "index.json").write_text(index_text(folder, system="somewhere", recordings=[entry]), encoding="utf-8")
    assert problem(folder) == (
        'recordings/somewhere/index.json: file: found "../../systems/virtual.yaml", expected the file of its own '
        "fabric, stack, rails and check"
    )


def test_no_index_at_all_is_said(tmp_path: Path) -> None:
    assert match_index(folder_of(tmp_path, "somewhere"), CELL, b"").problem == (
        "recordings/somewhere/index.json: found no such file, expected the index of the recordings; make the "
        "recordings of somewhere with `railyard record`"
    )
    assert replay_origin(tmp_path, "somewhere") == (
        "replayed: not measured (outputs of recordings/somewhere, no path is proven)"
    )


def test_a_later_recording_of_the_same_test_takes_the_place_of_the_first(folder: Path) -> None:
    other = TestId("fdr", "hpcx", 1, "osu/osu_bw", "OsuBandwidth")
    slower = TEXT.replace("12400", "6300")
    write_set(folder, [(recording_of(cell, slower, "computed", "me", "x"), slower) for cell in (CELL, other)])
    index = read_index(folder)
    assert [(one.file, one.origin) for one in index.recordings] == [
        (FILE, "computed"),
        ("fdr/hpcx/1/OsuBandwidth.out", "computed"),
    ]
    assert match_index(folder, CELL, slower.encode()).words == "replayed: computed from published values, not measured"


def test_what_was_computed_before_goes_when_the_set_is_computed_anew(folder: Path) -> None:
    other, third = (TestId(fabric, "hpcx", 1, "osu/osu_bw", "OsuBandwidth") for fabric in ("fdr", "qdr"))
    write_set(folder, [(recording_of(other, TEXT, "computed", "me", "x"), TEXT)])
    index = write_set(folder, [(recording_of(third, TEXT, "computed", "me", "x"), TEXT)], instead_of=("computed",))
    assert [(one.fabric, one.origin) for one in index.recordings] == [("edr", "recorded"), ("qdr", "computed")]
    assert not (folder / file_of(other)).exists()
    assert (folder / FILE).exists()


def test_a_set_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "recordings").write_text("no folder", encoding="utf-8")
    with pytest.raises(SetupError) as refused:
        write_set(folder_of(tmp_path, "x"), [(recording_of(CELL, TEXT, "recorded", "me", "run 1"), TEXT)])
    assert "expected to write a recording there" in str(refused.value)


@pytest.mark.parametrize(
    ("case", "check", "file"),
    [
        ("OsuBandwidth %rails=2 @virtual:hsn+mpich", "OsuBandwidth", "OsuBandwidth.out"),
        ("Osu %policy=round-robin %rails=2", "Osu %policy=round-robin", "Osu_policy=round-robin.out"),
    ],
)
def test_a_recording_is_of_a_check_with_its_parameters(case: str, check: str, file: str) -> None:
    assert check_of(case) == check
    assert file_of(TestId("f", "s", 2, "b", check)) == f"f/s/2/{file}"
