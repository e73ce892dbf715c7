"""`railyard run` of published systems: the checks run through a real ReFrame and play outputs from recordings."""

import json
import re
import shutil
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from railyard.provision.replay.form import WORDS, Recording
from railyard.provision.replay.index import folder_of, read_index, recording_of, write_set
from railyard.results.record.file import read_records
from railyard.results.record.form import Record
from railyard.site.reframe_versions import CHOSEN_PARAMETERS, choose, has, release_here
from tests.e2e.conftest import CLONE, RAILYARD, Ran, VirtualSite, make_replay_site, outcomes, replace_recording
from tests.made.secrets import PLAIN, PRIVATE_KEY, search_secrets
from tests.made.words import below_words

pytestmark = pytest.mark.e2e

full = pytest.mark.full

SYSTEM = "dell-c6320"
#: A replay of it by that commit (README.md there).
OF_67AA8CA = CLONE / "tests/results/record/of_67aa8ca/20261123T085308Z-cc48"
COMPUTED = "replayed: computed from published values, not measured"
PASS: tuple[str, int | None, str | None] = ("pass", None, None)
UNTESTED: tuple[str, int | None, str | None] = ("not-tested", None, None)
FOREIGN: tuple[str, int | None, str | None] = ("fail", 1, "set-up")
CHECKS = ("OsuLatency", "OsuBandwidth", "OsuBidirectional")


@pytest.fixture
def replays(tmp_path: Path) -> VirtualSite:
    """A site with the clone's recordings; no namespaces, no stacks, and no lock of the machine are needed."""
    return make_replay_site(tmp_path)


def ran(site: VirtualSite, *options: str, system: str = SYSTEM) -> Ran:
    return site.finish(*RAILYARD, "run", "--system", system, *options)


def of(run: Ran, fabric: str, check: str) -> Record:
    (found,) = (record for record in run.records if (record.where.fabric, record.test.check) == (fabric, check))
    return found


def states(run: Ran) -> Mapping[tuple[str, str], tuple[str, int | None, str | None]]:
    by_case = outcomes(run.records)
    return {(record.where.fabric, record.test.check): by_case[record.test.case] for record in run.records}


def test_no_secret_of_its_options_is_in_what_a_run_leaves(replays: VirtualSite) -> None:
    """Every kind as an option of jobs, as a variable of the system's file, and in the output of a benchmark."""
    plain = [*PLAIN, PRIVATE_KEY]
    assert len(PLAIN) >= 60
    quoted = re.compile("['\"]")  # which the value of a variable may not have
    allowed = [text for text in plain[:-1] if not quoted.search(text)]
    variables = ", ".join(f"SITE_{number}: {json.dumps(f'x {text}')}" for number, text in enumerate(allowed))
    replays.edit("systems/dell-c6320.yaml", "  edr:\n", f"  edr:\n    env: {{{variables}}}\n")
    healthy = recording(replays, "edr", "OsuBandwidth").read_text(encoding="utf-8")
    replace(replays, "edr", "OsuBandwidth", "\n".join((*(f"# {text}" for text in plain), healthy)))
    # One test fails: ReFrame keeps the folder with its job script.
    replace(replays, "fdr", "OsuBandwidth", "\n".join((*plain, "nothing")))
    words = [word for planted in plain[:-1] for word in ("-J", f"comment={planted}")]
    run = ran(replays, "-n", "OsuBandwidth", *words)
    assert {state for state, _, _ in outcomes(run.records).values()} == {"pass", "fail"}
    for name in ("junit", "md", "csv"):
        kept = replays.folder / f".railyard/report.{name}"
        assert replays.call(*RAILYARD, "report", "--format", name, "-o", str(kept)).code == 1
    names, left = search_secrets(replays.folder / ".railyard")
    assert {"reframe.log", "reframe-report.json", "rfm_job.sh", "OsuBandwidth.log"} <= names
    assert left == []
    (folder,) = (replays.folder / ".railyard/runs").iterdir()
    report = json.loads((folder / "reframe-report.json").read_text(encoding="utf-8"))
    assert "password=***" in report["session_info"]["cmdline"]


@pytest.mark.parametrize(
    ("option", "tests"), [pytest.param("--repeat=2", 4, marks=full), pytest.param("--distribute=all", 2, marks=full)]
)
def test_tests_that_reframe_makes_again_play_the_tests_recording(replays: VirtualSite, option: str, tests: int) -> None:
    """ReFrame adds hidden parameters to their names (%.repeat_no, %.part, %.nid), which no recording has."""
    run = ran(replays, "-n", "OsuLatency", option)
    assert (run.code, [record.found.state for record in run.records]) == (0, ["pass"] * tests)
    assert all(" %." in record.test.case for record in run.records)


def replace(site: VirtualSite, fabric: str, check: str, text: str) -> Recording:
    """Replace a recording with another output, and list it in the index as if it were right."""
    return replace_recording(site.folder, SYSTEM, fabric, check, text)


def recording(site: VirtualSite, fabric: str, check: str) -> Path:
    return folder_of(site.folder, SYSTEM) / fabric / "hpcx" / "1" / f"{check}.out"


def test_a_published_system_passes_and_says_everywhere_that_nothing_was_measured(replays: VirtualSite) -> None:
    run = ran(replays)
    assert (run.code, run.err) == (0, "")
    found = states(run)
    assert {key: found[key] for key in found if key[1] in CHECKS} == {
        (fabric, check): PASS for fabric in ("edr", "fdr") for check in CHECKS
    }
    assert {state for key, state in found.items() if key[1] not in CHECKS} <= {PASS, UNTESTED}
    assert f"{COMPUTED}; {WORDS['model']} (outputs of recordings/{SYSTEM}, no path is proven)" in run.lines
    assert f"tests replayed: {COMPUTED.removeprefix('replayed: ')}" in run.full_text

    record = of(run, "edr", "OsuBandwidth")
    assert record.made.replayed == COMPUTED
    assert record.found.verdict.text.endswith(f"; rule 4 (path) not judged here: replay; {COMPUTED}")
    rules = {rule.name: (rule.state, rule.sentence) for rule in record.found.verdict.rules}
    assert rules["path"] == ("not-judged", "not judged here: replay")
    assert {name: state for name, (state, _) in rules.items() if name != "path"} == {
        "complete": "pass", "metrics": "pass", "possible": "pass", "reference": "pass",
    }  # fmt: skip
    assert record.how.path_proof is not None
    assert (record.how.path_proof.state, record.where.nodes) == ("not-judged", ())
    assert record.found.curves[0].values[-1] == 12400.0
    # Names and hashes are those of 67aa8ca, so its records can be compared with these.
    before = read_records(OF_67AA8CA).records
    assert {(one.test.case, one.test.hash) for one in before} <= {(one.test.case, one.test.hash) for one in run.records}
    # The job has the benchmark's own words, and the record says what was played.
    assert record.how.command[-7:] == ("1:4194304", "-i", "2", "-x", "1", "-W", "16")
    played = record.how.environment["recording"]
    assert isinstance(played, dict)
    assert (played["file"], played["origin"]) == ("edr/hpcx/1/OsuBandwidth.out", "computed")
    assert "kernel" not in record.how.environment

    (folder,) = replays.run_folders()
    assert COMPUTED in (folder / "report.html").read_text(encoding="utf-8")
    assert f'name="replayed" value="{COMPUTED}"' in (folder / "junit.xml").read_text(encoding="utf-8")
    assert "| not judged here: replay" not in run.out
    assert not (replays.folder / ".railyard/testbed").exists()


#: All systems with recordings, except the one that the tests above and below play.
OTHERS = sorted(
    index.parent.name for index in (CLONE / "recordings").glob("*/index.json") if index.parent.name != SYSTEM
)


@full
@pytest.mark.parametrize("system", OTHERS)
def test_every_published_system_passes_as_its_source_says(system: str, replays: VirtualSite) -> None:
    run = ran(replays, system=system)
    assert (run.code, run.err) == (0, "")
    assert set(states(run).values()) <= {PASS, UNTESTED}
    passed = [record for record in run.records if record.found.state == "pass"]
    # those of repeats are played if a run repeats its tests
    listed = [one for one in read_index(folder_of(CLONE, system)).recordings if ".repeat_no" not in one.file]
    assert len(passed) == len(listed)
    origins = Counter(WORDS[one.origin] for one in listed)
    assert Counter(record.made.replayed for record in passed) == origins
    for words, count in origins.items():
        assert f"{count} test{'s' if count > 1 else ''} {words}" in run.full_text


@full
def test_gamess_lesson_fails_where_tcp_is_not_ahead_of_an_mpi(replays: VirtualSite) -> None:
    """At 1390 s the time is within its own tolerance, but behind InfiniBand: only the relation shows it."""
    check = "InstalledScaling %app=gamess-2 %nodes=4"
    played = folder_of(replays.folder, "survey-2004")
    (listed,) = (
        one for one in read_index(played).recordings if (one.check, one.fabric, one.stack) == (check, "myrinet", "tcp")
    )
    text = (played / listed.file).read_text(encoding="utf-8")
    slower = text.replace("1279.0", "1390.0")
    write_set(played, [(recording_of(listed.test, slower, listed.origin, "a test", "another output"), slower)])
    run = ran(replays, "-n", "InstalledScaling", system="survey-2004")
    assert run.code == 1
    assert {record.found.state for record in run.records} == {"pass", "not-tested"}
    assert (
        "gamess-2-tcp-ahead-of-infiniband fail with two compute processes per node GAMESS is quicker over Myrinet by "
        "TCP than over InfiniBand: installed/gamess-2/4-nodes over myrinet with tcp is not ahead of "
        "installed/gamess-2/4-nodes over infiniband with mpich: 1390 against 1319 s"
    ) in run.full_text
    assert "36 relations: 8 pass, 1 fail, 27 not judged" in run.full_text


@full
def test_rail_policies_are_tests_of_their_own_and_their_relations_hold(replays: VirtualSite) -> None:
    run = ran(replays, system="dual-rail-qdr")
    assert (run.code, run.err) == (0, "")
    places = {
        (one.test.stack, one.test.rails, one.test.check, one.test.policy)
        for one in run.records
        if one.where.fabric == "qdr" and one.found.curves
    }
    mine = {(rails, policy) for stack, rails, check, policy in places if (stack, check) == ("mvapich2", "OsuBandwidth")}
    assert mine == {
        (1, "single"), (2, "striping"), (2, "round-robin"), (2, "striping-8K"),
    }  # fmt: skip
    (folder,) = replays.run_folders()
    relations = {
        one["id"]: one["state"]
        for one in json.loads((folder / "relations.json").read_text(encoding="utf-8"))["relations"]
    }
    assert relations.pop("openmpi-more-variable") == "not-judged"
    assert set(relations.values()) == {"pass"}
    assert {"window-of-fdr", "lower-threshold-helps", "round-robin-beyond-fdr", "bidirectional-dip-eased"} <= set(
        relations
    )
    # the table and the page say which is which
    assert "2, round-robin" in run.out and "2, striping-8K" in run.out
    assert "2, round-robin" in (folder / "report.html").read_text(encoding="utf-8")


@full
def test_one_policy_is_selected_by_reframes_own_option(replays: VirtualSite) -> None:
    run = ran(
        replays,
        *choose(release_here(), "policy", "round-robin"),
        "-n",
        "OsuBandwidth|OsuLatency",
        system="dual-rail-qdr",
    )
    assert (run.code, run.err) == (0, "")
    assert sorted((one.test.check, one.test.stack, one.test.rails, one.test.policy) for one in run.records) == [
        ("OsuBandwidth", "mvapich2", 2, "round-robin"), ("OsuLatency", "mvapich2", 2, "round-robin"),
    ]  # fmt: skip


@full
@pytest.mark.skipif(not has(release_here() or "", CHOSEN_PARAMETERS), reason=f"no {CHOSEN_PARAMETERS.name}")
def test_a_policy_that_a_stack_does_unasked_may_be_named(replays: VirtualSite) -> None:
    """It uses the recording of the test that names no policy."""
    run = ran(replays, "-P", "policy=striping", "-n", "OsuBandwidth", system="dual-rail-qdr")
    assert run.code == 0
    assert sorted((one.test.stack, one.test.rails, one.test.policy) for one in run.records) == [
        ("mvapich2", 2, "striping"), ("openmpi", 2, "striping"),
    ]  # fmt: skip


@full
def test_the_spread_over_repeats_is_bounded_by_a_reference(replays: VirtualSite) -> None:
    run = ran(replays, "-n", "OsuBandwidth%rails=2", "--repeat", "3", system="dual-rail-qdr")
    assert (run.code, run.err) == (0, "")
    assert len(run.records) == 12
    (folder,) = replays.run_folders()
    found = {one["id"]: one for one in json.loads((folder / "relations.json").read_text(encoding="utf-8"))["relations"]}
    assert (found["openmpi-more-variable"]["state"], found["openmpi-more-variable"]["sentence"]) == (
        "pass",
        "osu/osu_bw over 2 rails of qdr with openmpi, striping spreads by 7.0% over 3 runs at 2 MiB, "
        "osu/osu_bw over 2 rails of qdr with mvapich2, striping by 1.0% (figures of a replay: "
        "computed, not published)",
    )


@full
def test_json_says_of_every_record_that_it_was_replayed(replays: VirtualSite) -> None:
    run = ran(replays, "--json", "-n", "OsuLatency")
    assert run.code == 0
    records = json.loads(run.out)
    assert [(one["found"]["state"], one["made"]["replayed"]) for one in records] == [("pass", COMPUTED)] * 2


@full
def test_an_output_of_fdr_in_the_place_of_edr_fails_and_is_named(replays: VirtualSite) -> None:
    replace(replays, "edr", "OsuBandwidth", recording(replays, "fdr", "OsuBandwidth").read_text(encoding="utf-8"))
    run = ran(replays, "-n", "OsuBandwidth")
    assert run.code == 1
    assert states(run) == {("edr", "OsuBandwidth"): ("fail", 5, "fabric"), ("fdr", "OsuBandwidth"): PASS}
    sentence = of(run, "edr", "OsuBandwidth").found.verdict.text
    assert sentence.startswith(f"{below_words(6300, 12028, 4 << 20)}, the bound of edr-bandwidth ")
    assert "; looks like " in sentence
    assert "looks like a link of InfiniBand FDR 4X (93.0 % of 6775 MB/s)" in sentence
    assert sentence.endswith(COMPUTED)


def test_a_recording_that_is_missing_cut_changed_or_of_another_benchmark_never_passes(replays: VirtualSite) -> None:
    cut, changed = recording(replays, "edr", "OsuLatency"), recording(replays, "edr", "OsuBandwidth")
    whole = cut.read_bytes()
    cut.write_bytes(whole[:-20])
    changed.write_text(changed.read_text(encoding="utf-8").replace("12400.00", "12401.00"), encoding="utf-8")
    recording(replays, "edr", "OsuBidirectional").unlink()
    # Listed as if it were right: the parser notices it.
    replace(replays, "fdr", "OsuLatency", recording(replays, "fdr", "OsuBandwidth").read_text(encoding="utf-8"))
    index = folder_of(replays.folder, SYSTEM) / "index.json"
    listed = json.loads(index.read_text(encoding="utf-8"))
    listed["recordings"] = [
        one | {"benchmark": "osu/osu_bw" if one["check"] == "OsuBidirectional" else one["benchmark"]}
        for one in listed["recordings"]
        if (one["fabric"], one["check"]) != ("fdr", "OsuBandwidth")
    ]
    index.write_text(json.dumps(listed), encoding="utf-8")

    run = ran(replays, "-n", "|".join(CHECKS))
    assert run.code == 1
    assert "Traceback" not in run.full_text
    assert set(states(run).values()) == {FOREIGN}
    said = {(record.where.fabric, record.test.check): record.found.verdict.text for record in run.records}
    folder = f"recordings/{SYSTEM}"
    name = f"{folder}/edr/hpcx/1"
    assert said["edr", "OsuLatency"] == (
        f"{name}/OsuLatency.out: found {len(whole) - 20} bytes, expected {len(whole)}: the recording is cut; {COMPUTED}"
    )
    assert said["edr", "OsuBandwidth"].startswith(f"{name}/OsuBandwidth.out: found SHA-256 ")
    assert said["edr", "OsuBandwidth"].endswith(f"…: the recording was changed after it was made; {COMPUTED}")
    assert said["edr", "OsuBidirectional"].startswith(
        f"{name}/OsuBidirectional.out: found a recording of osu/osu_bw, expected one of osu/osu_bibw"
    )
    assert said["fdr", "OsuLatency"] == f"the output has 0 tables, expected 1; {COMPUTED}"
    assert said["fdr", "OsuBandwidth"] == (
        f"{folder}: found no recording of OsuBandwidth (osu/osu_bw) with hpcx over 1 rail of fdr, expected one; record "
        f"a run of it, or switch it off in systems/{SYSTEM}.yaml (disabled) with the reason; replayed: not measured"
    )


@full
def test_a_system_without_recordings_is_refused_with_what_to_do(replays: VirtualSite) -> None:
    shutil.rmtree(folder_of(replays.folder, SYSTEM))
    run = ran(replays, "-n", "OsuLatency")
    assert (run.code, run.records) == (2, ())
    assert run.err == (
        f"railyard: recordings/{SYSTEM}/index.json: found no such file, expected the index of the recordings; make the "
        f"recordings of {SYSTEM} with `railyard record`\n"
    )


@full
def test_the_files_of_a_run_are_copied_to_where_they_are_asked_for(replays: VirtualSite, tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "folder"
    recording(replays, "edr", "OsuBandwidth").unlink()
    # Also for a failed run, when a person wants them.
    assert ran(replays, "-n", "OsuBandwidth", "--copy-to", str(folder)).code == 1
    assert sorted(path.name for path in folder.iterdir()) == ["junit.xml", "records.jsonl", "report.html"]
    copied = read_records(folder / "records.jsonl").records
    assert {(record.where.fabric, record.test.check): record.found.state for record in copied} == {
        ("edr", "OsuBandwidth"): "fail", ("fdr", "OsuBandwidth"): "pass",
    }  # fmt: skip
    refused = ran(replays, "-n", "OsuBandwidth", "--copy-to", str(folder / "junit.xml" / "below"))
    assert refused.code == 2
    assert f"--copy-to {folder}/junit.xml/below: found not a directory" in refused.err


def test_a_single_host_cannot_be_replayed(replays: VirtualSite) -> None:
    run = ran(replays, "--replay", system="local")
    assert (run.code, run.out) == (2, "")
    assert run.err == (
        "railyard: --replay: found local, a single host, expected a system with nodes and rails; name another\n"
    )


@full
def test_a_recorded_run_replays_to_the_same_curves_and_verdicts(site: VirtualSite) -> None:
    cells = ("--system", "virtual:hsn", "-n", "ImbUniband%rails=1|NetpipeStream%rails=1", "-p", "mpich|openmpi")
    first = site.run(*cells)
    assert first.code == 0
    recorded = site.call(*RAILYARD, "record")
    assert (recorded.code, recorded.lines[-1]) == (
        0, "2 recorded, 0 left out; play them: railyard run --replay --system virtual",
    )  # fmt: skip
    again = site.run("--replay", *cells)
    assert again.code == 0
    assert "virtual cluster up" not in again.lines
    assert {r.test.case: r.found.curves for r in again.records} == {r.test.case: r.found.curves for r in first.records}
    assert outcomes(again.records) == outcomes(first.records)
    assert {r.made.replayed for r in again.records} == {"replayed: recorded in an earlier run, not measured now"}
