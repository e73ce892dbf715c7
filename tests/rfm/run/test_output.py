"""Reading what ReFrame prints and writes: cases, reasons, and sentences for what it only warned about."""

import json
from pathlib import Path
from typing import Any

import pytest

from railyard.base.errors import RailyardError
from railyard.rfm.run.output import RanCase, listed_cases, ran_cases, unlisted_names, warnings
from railyard.site.test_id import of_name

UNIBAND = of_name("ImbUniband %rails=2", "0a1b2c3d", "virtual", "hsn", "mpich")
PINGPONG = of_name("ImbPingPong", "1a1b2c3d", "virtual", "hsn", "intelmpi")
LISTING = """\
[ReFrame Setup]
  version:           4.10.4

\x1b[33mWARNING: something\x1b[0m
[List of matched checks]
- ImbUniband %rails=2 /0a1b2c3d @virtual:hsn+mpich
    ^Build ~virtual:hsn+mpich 'binary /2a1b2c3d @virtual:hsn+mpich
        ^Fetch ~virtual 'sources 'more /3a1b2c3d @virtual:hsn+mpich
- ImbPingPong /1a1b2c3d @virtual:hsn+intelmpi
    ^Fetch ~virtual 'sources /3a1b2c3d @virtual:hsn+mpich
Concretized 4 test case(s)

Log file(s) saved in '/tmp/x.log'
"""


def test_a_listing_gives_what_was_selected() -> None:
    assert listed_cases(LISTING) == (UNIBAND, PINGPONG)


def test_a_case_is_written_as_records_name_it() -> None:
    assert str(UNIBAND) == "ImbUniband %rails=2 @virtual:hsn+mpich"


def test_a_test_that_is_selected_and_depended_on_is_selected() -> None:
    text = "- A /11111111 @s:p+e\n    ^B /22222222 @s:p+e\n- B /22222222 @s:p+e\nConcretized 2 test case(s)\n"
    assert [case.name for case in listed_cases(text)] == ["A", "B"]


def test_an_empty_listing_selects_nothing() -> None:
    assert listed_cases("[List of matched checks]\nConcretized 0 test case(s)\n") == ()


def test_colours_do_not_matter() -> None:
    assert listed_cases("\x1b[1m- A /11111111 @s:p+e\x1b[0m\n\x1b[1mConcretized 1 test case(s)\x1b[0m\n")[0].name == "A"


def test_a_listing_that_ended_early() -> None:
    with pytest.raises(RailyardError) as refused:
        listed_cases("- A /11111111 @s:p+e\nKilled\n")
    assert str(refused.value) == (
        "ReFrame's listing has no line 'Concretized N test case(s)': it ended early\n- A /11111111 @s:p+e\nKilled\n"
    )


def test_a_listing_with_a_line_that_could_not_be_read() -> None:
    with pytest.raises(RailyardError) as refused:
        listed_cases(LISTING.replace("- ImbPingPong /1a1b2c3d", "- ImbPingPong"))
    assert str(refused.value) == "ReFrame listed 4 cases, but 3 could be read from its listing"


# --- options that named nothing ---------------------------------------------------------------------------------------

IGNORED = "expected a variable or parameter of at least one; ReFrame ignores such a word and selects everything"
UNSET = "WARNING: test '{}': the following variables were not set: {}\n"
NEITHER = "WARNING: 'nosuch' is neither a variable nor a parameter of test '{}'; ignoring parameterization\n"


def test_a_name_that_no_listed_check_has() -> None:
    text = LISTING + UNSET.format("ImbUniband", "'nosuch', 'full'") + UNSET.format("ImbPingPong", "'nosuch'")
    assert unlisted_names(text, (UNIBAND, PINGPONG)) == (f"-S nosuch: found no check that has 'nosuch', {IGNORED}",)


def test_a_parameter_that_no_listed_check_has() -> None:
    text = LISTING + NEITHER.format("ImbUniband %rails=2") + NEITHER.format("ImbPingPong") + NEITHER.format("Unlisted")
    assert unlisted_names(text, (UNIBAND, PINGPONG)) == (f"-P nosuch: found no check that has 'nosuch', {IGNORED}",)


def test_a_name_that_one_listed_check_has() -> None:
    text = LISTING + UNSET.format("ImbUniband", "'window'") + NEITHER.format("ImbPingPong")
    assert unlisted_names(text, (UNIBAND, PINGPONG)) == ()


def test_where_nothing_is_listed_no_name_is_blamed() -> None:
    assert unlisted_names(NEITHER.format("Unlisted"), ()) == ()


@pytest.mark.parametrize("words", [["-S", "ImbUnband.full=1"], ["-SImbUnband.full=1"], ["--setvar=ImbUnband.full=1"]])
def test_a_class_that_is_not_listed(words: list[str]) -> None:
    assert unlisted_names(LISTING, (UNIBAND, PINGPONG), ["-r", *words, "-n", "Imb"]) == (
        '-S ImbUnband.full: found no selected check "ImbUnband", expected one of them; did you mean "ImbUniband"?',
    )


def test_a_name_that_its_class_has_not() -> None:
    text = LISTING + UNSET.format("ImbUniband", "'windo'")
    assert unlisted_names(text, (UNIBAND, PINGPONG), ["-S", "ImbUniband.windo=8"]) == (
        "-S ImbUniband.windo: found no variable 'windo' in ImbUniband, expected one that it has",
    )


def test_a_variable_of_a_fixture_class_is_one() -> None:
    assert unlisted_names(LISTING, (UNIBAND, PINGPONG), ["-S", "Build.jobs=2", "-S", "full=1", "-S", "x=a.b"]) == ()


# --- the report -------------------------------------------------------------------------------------------------------


def entry(name: str, result: str, **more: Any) -> dict[str, Any]:
    return {
        "display_name": name, "name": name, "unique_name": name.split()[0], "hashcode": "0a1b2c3d", "system": "virtual",
        "partition": "hsn", "environ": "mpich", "result": result, "fail_phase": None, "fail_reason": None,
        "stagedir": "/stage", "fixture": False, "dependencies_actual": [], **more,
    }  # fmt: skip


def report(folder: Path, *runs: list[dict[str, Any]]) -> Path:
    path = folder / "report.json"
    path.write_text(json.dumps({"runs": [{"testcases": cases} for cases in runs]}), encoding="utf-8")
    return path


def ran(name: str, result: str, phase: str | None = None, reason: str | None = None) -> RanCase:
    return RanCase(of_name(name, "0a1b2c3d", "virtual", "hsn", "mpich"), result, phase, reason, "/stage", 1, False)


def test_a_case_that_passed(tmp_path: Path) -> None:
    found = ran_cases(report(tmp_path, [entry("ImbUniband %rails=2", "pass")]))
    assert found == (RanCase(UNIBAND, "pass", None, None, "/stage", 1, False),)


def test_a_case_that_failed_then_passed(tmp_path: Path) -> None:
    failed = entry("A", "fail", fail_phase="sanity", fail_reason="sanity error")
    (found,) = ran_cases(report(tmp_path, [failed], [entry("A", "pass")]))
    assert (found.result, found.phase, found.reason, found.runs, found.failed_before) == ("pass", None, None, 2, True)


@pytest.mark.parametrize("first", ["abort", "fail_deps"])
def test_a_case_that_could_not_run_at_first(first: str, tmp_path: Path) -> None:
    (found,) = ran_cases(report(tmp_path, [entry("A", first)], [entry("A", "pass")]))
    assert found.failed_before


def test_a_case_that_passed_twice(tmp_path: Path) -> None:
    (found,) = ran_cases(report(tmp_path, [entry("A", "pass")], [entry("A", "pass")]))
    assert (found.runs, found.failed_before) == (2, False)


CUT_OFF = {"fail_phase": "cleanup", "fail_reason": "aborted due to RunSessionTimeout"}


def test_a_round_that_the_duration_cut_off_does_not_count(tmp_path: Path) -> None:
    failed = entry("B", "fail", fail_phase="sanity", fail_reason="sanity error")
    rounds = ([entry("A", "pass"), failed], [entry("A", "abort", **CUT_OFF), entry("B", "abort", **CUT_OFF)])
    found = ran_cases(report(tmp_path, *rounds))
    assert [(one.result, one.runs) for one in found] == [("pass", 1), ("fail", 1)]


def test_a_first_round_that_was_cut_off_or_another_end_counts(tmp_path: Path) -> None:
    (found,) = ran_cases(report(tmp_path, [entry("A", "abort", **CUT_OFF)]))
    assert (found.result, found.reason) == ("abort", "aborted due to RunSessionTimeout")
    by_hand = entry("A", "abort", fail_reason="aborted due to KeyboardInterrupt")
    (found,) = ran_cases(report(tmp_path, [entry("A", "pass")], [by_hand]))
    assert found.result == "abort"


def test_reasons_that_only_the_output_has(tmp_path: Path) -> None:
    text = (
        "\x1b[33m[     SKIP ] ( 1/12) A /0a1b2c3d @virtual:hsn+mpich [no [second] rail]\x1b[0m\n"
        "[    XFAIL ] ( 2/12) B %rails=1 /0a1b2c3d @virtual:hsn+mpich [slow switch]\n"
        "[     SKIP ] ( 3/12) C /0a1b2c3d @virtual:eth+mpich [of another fabric]\n"
    )
    cases = [entry("A", "skip"), entry("B %rails=1", "xfail"), entry("C", "skip")]
    assert ran_cases(report(tmp_path, cases), text) == (
        ran("A", "skip", None, "no [second] rail"),
        ran("B %rails=1", "xfail", None, "slow switch"),
        ran("C", "skip"),
    )


@pytest.mark.fault("session", "ReFrame itself stopped by an error", "run session stopped: os error: [Errno 22] Invalid")
def test_what_stopped_reframe_is_the_reason_of_those_that_have_none(tmp_path: Path, promise: str) -> None:
    text = f"\x1b[31mERROR: {promise} argument\x1b[0m\n"
    cases = [
        entry("A", "abort"),
        entry("B", "fail", fail_phase="run"),
        entry("C", "pass"),
        entry("D", "fail", fail_reason="x"),
        entry("E", "<unknown>"),
    ]
    found = ran_cases(report(tmp_path, cases), text)
    assert [each.reason for each in found] == [
        f"{promise} argument",
        f"{promise} argument",
        None,
        "x",
        f"{promise} argument",
    ]
    assert [each.reason for each in ran_cases(report(tmp_path, cases), "")] == [None, None, None, "x", None]


def test_a_dependent_names_what_failed(tmp_path: Path) -> None:
    build = entry("Build ~x", "fail", fixture=True, fail_phase="compile", fail_reason="no compiler")
    middle = entry("Middle", "fail_deps", dependencies_actual=[["Build", "virtual:hsn", "mpich"]])
    last = entry(
        "Last", "fail_deps", dependencies_actual=[["Good", "virtual:hsn", "mpich"], ["Middle", "virtual:hsn", "mpich"]]
    )
    good = entry("Good", "pass", fixture=True)
    reason = "Build ~x failed in stage compile: no compiler"
    assert ran_cases(report(tmp_path, [build, good, middle, last])) == (
        ran("Build ~x", "fail", "compile", "no compiler"),
        ran("Middle", "fail_deps", None, reason),
        ran("Last", "fail_deps", None, reason),
    )


def test_a_fixture_is_a_case_only_where_it_failed(tmp_path: Path) -> None:
    fixtures = [entry("Good", "pass", fixture=True), entry("Late", "fail", fixture=True, fail_phase="cleanup")]
    assert ran_cases(report(tmp_path, fixtures)) == (ran("Late", "fail", "cleanup"),)


def test_no_report_is_no_case(tmp_path: Path) -> None:
    assert ran_cases(tmp_path / "report.json") == ()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "Expecting value: line 1 column 1 (char 0)"),
        ('{"runs": [', "Expecting value: line 1 column 11 (char 10)"),
        ("{}", "'runs'"),
    ],
)
def test_a_report_that_cannot_be_read(text: str, why: str, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RailyardError) as refused:
        ran_cases(path)
    assert str(refused.value) == f"{path}: ReFrame's report cannot be read ({why}); see reframe.log beside it"


# --- warnings ---------------------------------------------------------------------------------------------------------

RERUN = "(rerun with '-v' for a backtrace)"


def setup_text(folder: Path) -> str:
    return f"  working directory: '{folder}'\n  check search path: (R) '{folder}/checks'\n\n"


@pytest.fixture
def checks(tmp_path: Path) -> Path:
    folder = tmp_path / "checks" / "microbench"
    folder.mkdir(parents=True)
    (folder / "osu.py").write_text(
        "import reframe as rfm\n\n\n"
        "@rfm.simple_test\nclass OsuLatency(rfm.RunOnlyRegressionTest):\n    x = int('two')\n\n\n"
        "class Base(rfm.RunOnlyRegressionTest):\n    pass\n\n\n@rfm.simple_test\nclass OsuBandwidth(Base):\n    pass\n",
        encoding="utf-8",
    )
    return tmp_path


@pytest.mark.parametrize(
    ("lines", "sentences"),
    [
        (
            f"WARNING: skipping test 'OsuBandwidth': value error: no rail: {RERUN}",
            ("checks/microbench/osu.py: OsuBandwidth was not loaded: value error: no rail",),
        ),
        (
            "WARNING: skipping test 'OsuBandwidth': value error: no rail:\n"
            f"| /site/lib.py:7\n|     rail()\n|     ^^^^ {RERUN}",
            ("checks/microbench/osu.py: OsuBandwidth was not loaded: value error: no rail (/site/lib.py:7)",),
        ),
        (
            "WARNING: skipping test file 'checks/microbench/osu.py': value error: two:\n"
            "| ROOT/checks/microbench/osu.py:6\n|     x = int('two')\nrerun with '-v' for a backtrace",
            (
                "checks/microbench/osu.py: this file was not loaded, and with it OsuLatency, OsuBandwidth: "
                "value error: two (line 6, in OsuLatency)",
            ),
        ),
        (
            "WARNING: skipping test file 'checks/microbench/osu.py': value error: two:\n"
            "| ROOT/checks/microbench/osu.py:1\n| import reframe as rfm\nrerun with '-v' for a backtrace",
            (
                "checks/microbench/osu.py: this file was not loaded, and with it OsuLatency, OsuBandwidth: "
                "value error: two (line 1)",
            ),
        ),
        (
            "WARNING: skipping test file 'checks/gone.py': name conflict error: twice",
            (
                "checks/gone.py: this file was not loaded, and with it no class that could be named: "
                "name conflict error: twice",
            ),
        ),
        (
            "WARNING: skipping incompatible test 'OsuLatency': not valid for ReFrame version 4.10.4",
            ("checks/microbench/osu.py: OsuLatency was not loaded: not valid for ReFrame version 4.10.4",),
        ),
        (
            "WARNING: skipping test 'Elsewhere': 'valid_systems' not defined",
            ("Elsewhere was not loaded: 'valid_systems' not defined",),
        ),
        (
            f"WARNING: skipping fixture 'Base_efa10f0f': value error: no {RERUN}",
            ("checks/microbench/osu.py: Base was not loaded: value error: no",),
        ),
        (
            "WARNING: could not resolve dependency: ('OsuBandwidth_1', 'virtual:hsn', 'mpich') -> 'Base_efa10f0f'\n"
            "WARNING: skipping all dependent test cases\n  - OsuBandwidth %rails=1 @virtual:hsn+mpich\n"
            "  - OsuLatency @virtual:hsn+mpich\n",
            (
                "checks/microbench/osu.py: OsuBandwidth %rails=1 @virtual:hsn+mpich was dropped: "
                "it depends on Base, which is not there",
                "checks/microbench/osu.py: OsuLatency @virtual:hsn+mpich was dropped: "
                "it depends on a test that was dropped",
            ),
        ),
        (
            "WARNING: skipping all dependent test cases\n  - odd",
            ("ReFrame dropped a test whose dependency is not there: odd",),
        ),
        (
            "WARNING: skipping evaluation of performance variable 'peak': no match",
            ("a performance variable was dropped: 'peak': no match",),
        ),
        ("WARNING: skipping something new", ("ReFrame skipped something new",)),
        (
            "WARNING: check path '/nosuch' does not exist",
            ("-c /nosuch: found no such file or folder, expected checks",),
        ),
        (
            "WARNING: invalid test variable assignment: 'full'; skipping",
            ("-S full: found no '=', expected NAME=VALUE",),
        ),
        (  # as ReFrame 4.7 says it: the place in the first line, of a file from its working folder
            "WARNING: skipping test 'OsuBandwidth': value error: checks/microbench/osu.py:14: two\n"
            "    x = int('two')\n (rerun with '-v' for more information)",
            ("checks/microbench/osu.py: OsuBandwidth was not loaded: value error: two (line 14, in OsuBandwidth)",),
        ),
        (  # and of a fixture from the folder of its check
            "WARNING: skipping fixture 'Base_efa10f0f': value error: osu.py:10: two\n",
            ("checks/microbench/osu.py: Base was not loaded: value error: two (line 10, in Base)",),
        ),
        (
            "WARNING: skipping fixture 'Base_efa10f0f': value error: lib.py:10: two\n",
            ("checks/microbench/osu.py: Base was not loaded: value error: two (lib.py:10)",),
        ),
        ("WARNING: redefinition of environment 'gnu'", ()),
        ("note: skipping test 'OsuLatency': said in a test's own output", ()),
    ],
    ids=lambda value: "",
)
def test_a_warning_becomes_a_sentence(lines: str, sentences: tuple[str, ...], checks: Path) -> None:
    coloured = lines.replace("ROOT", str(checks)).replace("WARNING", "\x1b[33mWARNING")
    assert warnings(setup_text(checks) + coloured + "\x1b[0m\n") == sentences


def test_a_warning_is_said_once(checks: Path) -> None:
    twice = "WARNING: check path '/nosuch' does not exist\n" * 2
    assert len(warnings(setup_text(checks) + twice)) == 1


def test_without_a_heading_the_sentence_still_comes() -> None:
    assert warnings("WARNING: skipping test 'A': no") == ("A was not loaded: no",)


def test_an_undisturbed_run_has_no_warnings() -> None:
    assert warnings(LISTING) == ()
