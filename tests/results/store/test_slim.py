"""Records read without what each of many nodes has: the rest is the same, and what is left out can be had."""

import json
from collections.abc import Callable
from pathlib import Path

from railyard.results.record.file import FILE_NAME
from railyard.results.record.form import PART_OF, NodesAlike, PathProofRecord, Record
from railyard.results.record.pair_rows import PairsRecord
from railyard.results.store import query

Made = Callable[..., Record]
Stored = Callable[..., Path]
MATRIX = PairsRecord(("vn1", "vn2"), 4 << 20, ((None, 47.0), (46.0, None)))
COLUMNS = NodesAlike(("vn1", "vn2"), ("hsn0",), (True,), ((1, 2),), ((3, 4),))


def test_slim_records_lack_pairs_and_columns_alone_and_whole_gives_them(
    home: Path, new_record: Made, stored_run: Stored
) -> None:
    record = new_record(pairs=MATRIX, path_proof=PathProofRecord("proven", "all on hsn0", 10, alike=(COLUMNS,)))
    stored_run(record)
    (slim,) = query.records(home, slim=True).records
    assert (slim.found.pairs, slim.how.path_proof) == (None, PathProofRecord("proven", "all on hsn0", 10))
    assert slim.found.figures == record.found.figures
    assert query.whole_records(home, [slim]) == (record,)
    assert query.records(home).records == (record,)


def test_a_record_of_format_1_is_slim_too(home: Path, new_record: Made, stored_run: Stored) -> None:
    file = (
        stored_run(new_record(pairs=MATRIX, path_proof=PathProofRecord("proven", "all on hsn0", 10, alike=(COLUMNS,))))
        / FILE_NAME
    )
    values = json.loads(file.read_bytes())
    flat = {name: value for part in set(PART_OF.values()) for name, value in values[part].items()}
    file.write_text(json.dumps({"format": 1, **flat}) + "\n", encoding="utf-8")
    (slim,) = query.records(home, slim=True).records
    assert (slim.found.pairs, slim.how.path_proof) == (None, PathProofRecord("proven", "all on hsn0", 10))


def test_a_record_of_few_nodes_keeps_its_path(home: Path, new_record: Made, stored_run: Stored) -> None:
    stored_run(new_record())
    (slim,) = query.records(home, slim=True).records
    assert slim == new_record()


def test_a_record_that_is_gone_since_stays_slim(home: Path, new_record: Made) -> None:
    assert query.whole_records(home, [new_record(run="r9")]) == (new_record(run="r9"),)
