"""Folded sentences, and bars of progress: for a terminal, and never among what a program reads."""

import os
import pty
import subprocess
import sys

import pytest

from railyard.base.terminal import fold_words, line_width, track, wrap_lines

TAKES = "from railyard.base.terminal import track; print(sum(track(range({count}), 'judging figures')))"


def on_a_terminal(count: int, term: str) -> tuple[str, str]:
    """Return what goes to stdout, and to a terminal as stderr."""
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-c", TAKES.format(count=count)],
        stdout=subprocess.PIPE, stderr=theirs, env={**os.environ, "TERM": term}, text=True, check=True,
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(ours, 4096):
            shown += part
    except OSError:  # the other end of the terminal is closed: this is how it ends
        pass
    os.close(ours)
    return done.stdout, shown.decode()


@pytest.mark.parametrize(("count", "term", "bar"), [(30, "xterm", True), (5, "xterm", False), (30, "dumb", False)])
def test_a_bar_is_shown_on_a_terminal_alone_and_beside_the_output(count: int, term: str, bar: bool) -> None:
    out, shown = on_a_terminal(count, term)
    assert out == f"{sum(range(count))}\n"
    assert ("judging figures" in shown) is bar


def test_without_a_terminal_the_items_are_what_was_given() -> None:
    items = list(range(30))
    assert track(items, "judging figures") is items


def test_a_sentence_folds_between_words_below_its_indent() -> None:
    assert (
        fold_words("the rail hsn1 of vn2 is slow", 14, "    ", "  ") == "  the rail\n    hsn1 of\n    vn2 is\n    slow"
    )
    assert fold_words("/a/long/path/that/is/one/word is here", 10, " ") == "/a/long/path/that/is/one/word\n is here"
    assert fold_words("one\ntwo three", 5, "> ") == "one\n> two\n> three"
    assert fold_words("the rail hsn1 of vn2 is slow", None) == "the rail hsn1 of vn2 is slow"


def test_lines_fold_each_below_its_own_indent() -> None:
    assert wrap_lines("short\n  problem: no carrier", 14) == "short\n  problem: no\n    carrier"
    assert wrap_lines("a line  of columns", 18) == "a line  of columns"


@pytest.mark.parametrize("wide", range(12, 60))
def test_the_words_of_a_state_stay_together(wide: int) -> None:
    said = "hp2p-two-summaries.txt: hp2p/hp2p: NOT JUDGED: hp2p/hp2p measures nothing that is compared"
    lines = fold_words(said, wide, "  ").split("\n")
    assert [line for line in lines if "NOT JUDGED" in line]
    assert " ".join(" ".join(lines).split()) == said


def test_a_file_gets_whole_lines_unless_columns_says_how_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert line_width() is None
    monkeypatch.setenv("COLUMNS", "80")
    assert line_width() == 80
