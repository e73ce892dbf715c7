"""tests/golden/sentences.txt is what the judges say: its diff is the review of a change of words."""

import ast
import shutil
from pathlib import Path

from tests import quoted_sentences
from tests.conftest import ROOT
from tests.marked_words import broken_files, files_of, mark_words, summary
from tests.sentences import PAGE, page
from tests.wording_samples import PARTICULAR, functions, literals, samples_of_all, sentences_of


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


#: What makes words of its own, each with its reason: below railyard/verdict.
OWN_WORDS = {
    "hints/causes.py": "the table of causes as its page shows it: what is looked for, and its source",
    "hints/gpu.py": "the table of causes of GPUs as its page shows it",
    "hints/first_cause.py": "the table of what libraries print as its page shows it",
    "hints/fallback.py": "a table of what libraries print: a row has the pattern, what it means, and its source",
}
#: Modules there whose tables have what libraries and schedulers print; their functions make no words.
TABLES = ("stored_outputs/one_node.py",)
#: Texts of other files that are no sentences of ours.
NO_SENTENCES = {
    **dict.fromkeys(("No device found", "No IP interface found", "Loaded net plugin"), "NCCL prints it"),
    **dict.fromkeys(("NVLS multicast support is not", "GPU Direct RDMA Disabled"), "NCCL prints it"),
    "PCIe Gen3 x16": "the terms of a rate, like those of a limit",
    "out of place": "a half of a row, as a fact",
    **dict.fromkeys(("pairs of ranks", "messages in flight"), "what a heading counts, as a fact"),
    **dict.fromkeys(("link between GPUs", "way within a node"), "a part of an error"),
    **dict.fromkeys(("no such folder", "…, without a name", "nodes … and … of …"), "a part of an error"),
}


def test_no_sentence_of_a_verdict_is_made_outside_the_room_of_words() -> None:
    folder = ROOT / "railyard" / "verdict"
    paths = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*.py"))}
    assert {*OWN_WORDS, *TABLES} <= set(paths)
    outside = {name: path for name, path in paths.items() if not name.startswith("wording/") and name not in OWN_WORDS}
    texts = [
        (path.relative_to(ROOT).as_posix(), line, text)
        for name, path in outside.items()
        for line, text in sentences_of(path, tables=name not in TABLES)
    ]
    assert set(NO_SENTENCES) <= {text for _, _, text in texts}
    found = [f"{file}:{line}: {text}" for file, line, text in texts if text not in NO_SENTENCES]
    assert not found, "make it in railyard/verdict/wording, from typed facts"


def test_a_sentence_is_found_by_its_words(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text(
        '"""A docstring has many words."""\n'
        "PATTERN = r'(?P<node>\\w+) is not there at all'\n"
        "TABLE = ('a table of its own words',)\n"
        'def said(node: "Mapping[str, Sequence[int] | None]") -> str:\n'
        '    """Return a docstring of a function."""\n'
        "    if not node:\n        raise ValueError(f'{node}: expected a node of the run')\n"
        "    return f'the cable of {node} is broken' or 'same side'\n",
        encoding="utf-8",
    )
    assert list(sentences_of(module)) == [(3, "a table of its own words"), (8, "the cable of … is broken")]
    assert list(sentences_of(module, tables=False)) == [(8, "the cable of … is broken")]


def test_pages_quote_what_sentences_still_say() -> None:
    quoted = [line.partition(": ") for line in quoted_sentences.QUOTED.read_text(encoding="utf-8").splitlines()]
    stale = [f"{where}: {quote}" for where, _, quote in quoted if not quoted_sentences.is_said(quote)]
    assert not stale, "no sentence has these words: change the page, then type python -m tests.quoted_sentences"


def test_each_sentence_that_a_page_quotes_is_in_the_list() -> None:
    written = quoted_sentences.QUOTED.read_text(encoding="utf-8").splitlines()
    assert quoted_sentences.lines() == written, "type: python -m tests.quoted_sentences"


def test_a_mark_is_put_into_one_word_of_a_sentence_and_found_in_what_a_failed_test_says(tmp_path: Path) -> None:
    for file in files_of(ROOT):
        copy = tmp_path / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)
    functions = mark_words(tmp_path, 50, 1)
    texts = {file: file.read_text(encoding="utf-8") for file in files_of(tmp_path)}
    assert all(sum(text.count(mark) for text in texts.values()) == 1 for mark in functions)
    without_comments = "\n".join(ast.unparse(ast.parse(text)) for text in texts.values())
    shown = {mark for mark in functions if mark in without_comments}
    assert shown == set(functions)
    broken = broken_files(['["tests/a.py", ["zq0000"]]', '["tests/b.py", ["zq0000", "zq0001"]]'])
    assert summary({"zq0000": "x.one", "zq0001": "x.two", "zq0002": "x.three"}, broken).splitlines() == [
        *("1 of 3 sentence functions break 0 files", "1 of 3 sentence functions break 1 files"),
        *("1 of 3 sentence functions break 2 files", "x.one: tests/a.py, tests/b.py"),
    ]


def test_facts_are_given_to_functions_that_exist() -> None:
    assert set(PARTICULAR) - {name for name, _ in functions()} == set()
