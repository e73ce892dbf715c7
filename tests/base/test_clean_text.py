"""Text from outputs is harmless once cleaned."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railyard.base.values import clean, one_line


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("47.8 MB/s", "47.8 MB/s"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;a title\x07left", "left"),
        ("\x1b]8;;https://a.example\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bPq device\x1b\\left", "left"),
        ("\x9b31mred", "red"),
        ("\x1b(Bleft\x1bc", "left"),
        ("a\x00b\x07c\x7fd\x85e", "abcde"),
        ("bar\rfoo\r\nend\n\tcell", "bar\nfoo\nend\n\tcell"),
        ("user\u202egnp.exe\u2066\u200b", "usergnp.exe"),
        ("\ud800half\ufffe\uffff\ufeff", "half"),
        ("\x1b\x1b[[31m", "31m"),
        ("\x1b]unended\nnext line", "\nnext line"),
        ("µ × ½ – naïve", "µ × ½ – naïve"),
    ],
)
def test_control_codes_are_removed_and_text_stays(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned


@given(st.text(alphabet=st.sampled_from("\x1b[]()0;1mP\\\x07\x9b\x9d\x9cab\r\n\t\x00\u202e\ud800")))
def test_cleaning_twice_changes_nothing_and_no_control_code_is_left(text: str) -> None:
    once = clean(text)
    assert clean(once) == once
    assert not set(once) & set("\x1b\x07\x00\x9b\x9c\x9d\r\u202e\ud800")


def test_one_line_has_no_line_ends_and_single_blanks() -> None:
    assert one_line("  a\r\n b\tc \x1b[0m ") == "a b c"
