"""What of a system's pairs was measured over some days."""

from pathlib import Path

from railyard.results.record import pair_rows
from railyard.results.record.pair_rows import PairsRecord, PairsSample, PairsSummary, Row, pack_rows
from railyard.verdict.node_pairs import Night, cover_nights, leaf_pairs, nights_of, parse_used_pairs, used_text
from tests.made.records import made_record

NODES = ("n1", "n2", "n3", "n4", "n5")
LEAVES = {"n1": "a", "n2": "a", "n3": "b", "n4": "b", "n5": "c"}
FIRST = Night("r1", "2026-11-23T01:00:00Z", "nightly", NODES[:4], frozenset({(0, 2), (1, 3)}))
#: By other places, since its nodes are others.
SECOND = Night("r2", "2026-11-24T01:00:00Z", "rolling", ("n4.cluster", "n3"), frozenset({(0, 1)}))


def test_nights_together_cover_each_pair_once_and_name_who_was_never_measured() -> None:
    found = cover_nights((FIRST, SECOND, FIRST), NODES, LEAVES)
    share = found.coverage
    # 1-3, 2-4 and 3-4 of the ten pairs of five nodes; a and b of the three pairs of leaves.
    assert ((share.nodes.used, share.nodes.all), (share.pairs.used, share.pairs.all)) == ((4, 5), (3, 10))
    assert (share.leaf_pairs.used, share.leaf_pairs.all) == (1, 3)
    assert found.unmeasured_nodes == ("n5",)
    assert found.last == {
        "n1": FIRST.time, "n3": FIRST.time, "n2": FIRST.time, "n4": FIRST.time,
    }  # fmt: skip
    assert cover_nights((FIRST, SECOND), NODES, LEAVES).last["n3"] == SECOND.time


def test_leaves_that_met_are_counted_a_night() -> None:
    assert leaf_pairs((FIRST, FIRST, SECOND), LEAVES) == {frozenset({"a", "b"}): 2}
    assert leaf_pairs((FIRST,), {}) == {}


def test_pairs_of_earlier_nights_are_written_and_read_by_name() -> None:
    text = used_text((FIRST, SECOND))
    assert text == "n1 n3\nn2 n4\n\nn3 n4\n"
    assert parse_used_pairs(text, ("n4", "n3", "n1")) == (((1, 2),), ((0, 1),))


def test_the_rows_of_a_sample_lie_beside_its_record_and_a_cut_file_is_one_sentence(tmp_path: Path) -> None:
    rows = [Row(0, 1, 0, 1, 11800.0, 11790.0, 1.5), Row(0, 1, 2, 3, None, None, None), Row(1, 1, 2, 1, 9.0, 9.0, None)]
    file = pack_rows(4, rows, ("sample", "alone"))
    (tmp_path / "r1").mkdir()
    pair_rows.write(tmp_path / "r1", file)
    summary = PairsSummary(("all",), (0,) * 4, False, ((9.0,),), ((9.0,),), (9.0,) * 4, (9.0,) * 4, (1,) * 4)
    pairs = PairsRecord(NODES[:4], 4194304, rows=file.told, summary=summary, sample=PairsSample("nightly", ()))
    record = made_record().with_fields(run="r1", pairs=pairs)
    nights, problems = nights_of([record], tmp_path)
    # A pair without a result is none that was covered.
    assert (nights[0].pairs, nights[0].kind, problems) == (frozenset({(0, 1), (1, 2)}), "nightly", ())
    (tmp_path / "r1" / file.told.file).write_bytes(file.content[:-9])
    nights, problems = nights_of([record], tmp_path)
    assert nights == ()
    assert "a file that is cut" in problems[0]


def test_all_pairs_are_read_from_their_matrix_and_a_rehearsal_covers_nothing() -> None:
    values = ((None, 9.0, None), (9.0, None, 9.0), (None, 9.0, None))
    record = made_record().with_fields(pairs=PairsRecord(NODES[:3], 4194304, values))
    assert [night.pairs for night in nights_of([record], Path())[0]] == [frozenset({(0, 1), (1, 2)})]
    assert nights_of([record], Path())[0][0].kind == "all pairs"
    assert nights_of([record.with_fields(rehearsal="stand-ins ran")], Path()) == ((), ())
