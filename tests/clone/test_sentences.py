"""tests/golden/sentences.txt is what the judges say: its diff is the review of a change of words."""

from tests.sentences import PAGE, page


def test_the_golden_sentences_are_those_of_the_judges() -> None:
    written = PAGE.read_text(encoding="utf-8")
    assert page() == written, "a sentence has changed; type: python -m tests.sentences, then read the diff of that file"
