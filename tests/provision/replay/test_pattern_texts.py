"""Texts from an installed application's published time: what its own patterns read back, and what is refused."""

import pytest

from railyard.base.errors import RailyardError
from railyard.benchmarks.apps.installed_applications import Application, parse
from railyard.provision.replay.texts import pattern_text

SAID = "computed, not measured: references/made.yaml: gamess"


@pytest.mark.parametrize(
    ("figure", "success", "lines"),
    [
        (
            r"TOTAL WALL CLOCK TIME=\s*(?P<seconds>[0-9.]+) SECONDS",
            "EXECUTION OF GAMESS TERMINATED NORMALLY",
            ["TOTAL WALL CLOCK TIME= 1279.0 SECONDS", "EXECUTION OF GAMESS TERMINATED NORMALLY"],
        ),
        (
            r"^Total wall-clock time: +(?P<seconds>(?:[0-9]+|[)(])\.[0-9]) sec\.$",
            r"^Calculation complete\.",
            ["Total wall-clock time: 1279.0 sec.", "Calculation complete."],
        ),
    ],
)
def test_the_patterns_read_back_what_is_made(figure: str, success: str, lines: list[str]) -> None:
    stated = Application(figure=figure, success=success)
    text = pattern_text("made", stated, 1279, SAID)
    assert text.splitlines() == [f"# {SAID}", *lines]
    (table,) = parse(text, "made", stated).tables
    assert (table.rows, table.complete) == (((1279.0,),), True)


@pytest.mark.parametrize(
    ("figure", "success"),
    [
        (r"(?P<seconds>[0-9]+e[+-][0-9]+) s", "done"),
        (r"time (?P<seconds>[0-9.]+) (?:s|sec)onds?", "done"),
        (r"time (?P<seconds>[0-9.]+) s", "all [0-9] ranks done"),
        # it would read only the number's first digits
        (r"time (?P<seconds>[0-9]{2})", "done"),
    ],
)
def test_patterns_whose_text_is_not_plain_are_refused(figure: str, success: str) -> None:
    with pytest.raises(RailyardError) as caught:
        pattern_text("made", Application(figure=figure, success=success), 1279, SAID)
    assert str(caught.value) == (
        "applications.made: found no text that its patterns read as 1279 s and a good end, expected plain words around "
        f"the number (figure: {figure}; success: {success})"
    )
