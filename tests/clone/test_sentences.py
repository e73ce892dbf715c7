"""tests/golden/sentences.txt is what the judges say: its diff is the review of a change of words."""

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
