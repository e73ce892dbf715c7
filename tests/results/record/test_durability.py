"""A record that was reported as written is there: after kill -9 at any moment, on a full disk, with other writers."""

import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from railyard.base.errors import SetupError
from railyard.results.record.file import FILE_NAME, append_record, read_records
from tests.made.records import made_record
from tests.patience import PATIENCE_S

# Writes records for ever, and prints the name of each on its own line when append_record has returned.
WRITER = """
import json, sys
from pathlib import Path
from railyard.results.record.file import append_record
from railyard.results.record.form import Record
path, name = Path(sys.argv[1]), sys.argv[2]
record = Record.from_json(json.loads(Path(sys.argv[3]).read_text()))
number = 0
while True:
    append_record(path, record.with_fields(case=f"{name}-{number}"))
    sys.stdout.write(f"{name}-{number}\\n")
    sys.stdout.flush()
    number += 1
"""


def killed_at_random(path: Path, example: Path, kills: int, seed: int) -> tuple[list[str], list[str], int]:
    """Kill two writers of one file at random moments, ``kills`` times; return what was reported, read, and cut."""
    moments = random.Random(seed)
    reported: list[str] = []
    for number in range(0, kills, 2):
        writers = [
            subprocess.Popen(
                [sys.executable, "-c", WRITER, str(path), f"w{number + one}", str(example)],
                stdout=subprocess.PIPE, text=True,
            )
            for one in range(2)
        ]  # fmt: skip
        for writer in writers:  # both write before either is killed
            assert writer.stdout is not None
            reported.append(writer.stdout.readline().strip())
        for writer in writers:
            time.sleep(moments.random() * 0.02)
            writer.send_signal(signal.SIGKILL)
            rest, _ = writer.communicate(timeout=PATIENCE_S)
            # The last word may be cut by the kill: then nothing was reported of it.
            reported += [line for line in rest.split("\n")[:-1] if line]
    read = read_records(path)
    return reported, [record.test.case for record in read.records], len(read.problems)


def check(tmp_path: Path, kills: int) -> None:
    import json

    example = tmp_path / "example.json"
    example.write_text(json.dumps(made_record().to_json()), encoding="utf-8")
    reported, read, cut = killed_at_random(tmp_path / FILE_NAME, example, kills, seed=kills)
    assert len(reported) >= kills
    assert set(reported) - set(read) == set()
    assert len(read) == len(set(read))
    assert cut <= kills  # a line that was cut was not reported, and the next one begins on a line of its own


def test_nothing_that_was_reported_is_lost_when_writers_are_killed(tmp_path: Path) -> None:
    check(tmp_path, 10)


@pytest.mark.full
def test_nothing_that_was_reported_is_lost_when_a_hundred_writers_are_killed(tmp_path: Path) -> None:
    check(tmp_path, 100)


def test_a_disk_that_is_full_in_mid_write_is_a_sentence_and_leaves_no_half_line(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    append_record(path, made_record())
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    # The kernel then takes the first 100 bytes of the record and refuses the rest, like a full disk.
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 100, before[1]))
    try:
        with pytest.raises(SetupError) as caught:
            append_record(path, made_record(case="second"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert str(caught.value) == (
        f"{path}: the record of second could not be written (File too large); raise the limit on the size of a file "
        "(ulimit -f), or choose another folder, then run the test again"
    )
    assert read_records(path).records == (made_record(),)
    assert read_records(path).problems == ()
    append_record(path, made_record(case="third"))
    assert [record.test.case for record in read_records(path).records] == [made_record().test.case, "third"]


def test_a_really_full_disk_is_the_same(tmp_path: Path) -> None:
    program = (
        "import json, sys\n"
        "from pathlib import Path\n"
        "from railyard.results.record.file import append_record, read_records\n"
        "from railyard.results.record.form import Record\n"
        "from railyard.base.errors import SetupError\n"
        "record = Record.from_json(json.loads(sys.argv[1]))\n"
        "path = Path('/mnt/records.jsonl')\n"
        "written = 0\n"
        "try:\n"
        "    while True:\n"
        "        append_record(path, record)\n"
        "        written += 1\n"
        "except SetupError as error:\n"
        "    read = read_records(path)\n"
        "    print(len(read.records) == written > 5, read.problems, str(error).partition('(')[2].partition(')')[0])\n"
    )
    import json

    script = 'mount -t tmpfs -o size=64k none /mnt && exec "$0" -c "$1" "$2"'
    answer = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, sys.executable, program,
         json.dumps(made_record().to_json())],
        capture_output=True, text=True, timeout=PATIENCE_S, cwd=Path(__file__).parents[3],
    )  # fmt: skip
    if "unshare" in answer.stderr or "mount:" in answer.stderr:
        pytest.skip(f"no mount namespace here: {answer.stderr.strip()}")
    assert (answer.stdout, answer.stderr) == ("True () No space left on device\n", "")


def test_a_file_system_without_locks_is_written_to_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_locks(descriptor: int, how: int) -> None:
        raise OSError(95, os.strerror(95))

    monkeypatch.setattr("fcntl.flock", no_locks)
    append_record(tmp_path / FILE_NAME, made_record())
    assert read_records(tmp_path / FILE_NAME).records == (made_record(),)
