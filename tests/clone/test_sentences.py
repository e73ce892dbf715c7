"""tests/golden/sentences.txt is what the judges say: its diff is the review of a change of words."""

import ast
import shutil
from pathlib import Path

from tests import quoted_sentences
from tests.conftest import ROOT
from tests.marked_words import ROOM, broken_files, mark_words, summary
from tests.sentences import PAGE, page
from tests.wording_samples import literals, samples_of_all


def test_the_golden_sentences_are_those_of_the_judges() -> None:
    written = PAGE.read_text(encoding="utf-8")
    assert page() == written, "a sentence has changed; type: python -m tests.sentences, then read the diff of that file"


def test_each_sentence_function_is_in_the_golden_file() -> None:
    written = set(PAGE.read_text(encoding="utf-8").splitlines())
    unseen = [name for name, said in samples_of_all() if not said or not written.issuperset(said)]
    assert not unseen, "no sample: type python -m tests.sentences, or add facts to tests/wording_samples.py"


def test_all_words_of_the_room_are_in_the_golden_file() -> None:
    written = PAGE.read_text(encoding="utf-8")
    unseen = [f"{where}: {words!r}" for where, words in literals() if words not in written]
    assert not unseen, "add facts that make these words to PARTICULAR in tests/wording_samples.py"


def test_pages_quote_what_sentences_still_say() -> None:
    quoted = [line.partition(": ") for line in quoted_sentences.QUOTED.read_text(encoding="utf-8").splitlines()]
    stale = [f"{where}: {quote}" for where, _, quote in quoted if not quoted_sentences.is_said(quote)]
    assert not stale, "no sentence has these words: change the page, then type python -m tests.quoted_sentences"


def test_each_sentence_that_a_page_quotes_is_in_the_list() -> None:
    written = quoted_sentences.QUOTED.read_text(encoding="utf-8").splitlines()
    assert quoted_sentences.lines() == written, "type: python -m tests.quoted_sentences"


def test_a_mark_is_put_into_one_word_of_a_sentence_and_found_in_what_a_failed_test_says(tmp_path: Path) -> None:
    shutil.copytree(ROOT / ROOM, tmp_path / ROOM)
    functions = mark_words(tmp_path, 50, 1)
    texts = {file: file.read_text(encoding="utf-8") for file in (tmp_path / ROOM).glob("*.py")}
    assert all(sum(text.count(mark) for text in texts.values()) == 1 for mark in functions)
    shown = {mark for text in texts.values() for mark in functions if mark in ast.unparse(ast.parse(text))}
    assert shown == set(functions)
    broken = broken_files(['["tests/a.py", ["zq0000"]]', '["tests/b.py", ["zq0000", "zq0001"]]'])
    assert summary({"zq0000": "x.one", "zq0001": "x.two", "zq0002": "x.three"}, broken).splitlines() == [
        *("1 of 3 sentence functions break 0 files", "1 of 3 sentence functions break 1 files"),
        *("1 of 3 sentence functions break 2 files", "x.one: tests/a.py, tests/b.py"),
    ]
