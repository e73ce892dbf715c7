"""Each kind of bad input, on the real command line: one clear sentence, exit 2, nothing started and nothing lost.

tests/site/ and tests/base/test_strict_yaml.py test the sentences of the models case by case; here a person's files and
options go through the command line. Cases that end before a process is started run in this process.
"""

import json
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from railyard.cli.main import main
from railyard.results.record.file import read_records

pytestmark = pytest.mark.e2e

RAILYARD = str(Path(sys.executable).with_name("railyard"))
REFRAME = str(Path(sys.executable).with_name("reframe"))
RECORDED = Path(__file__).parents[1] / "recordings" / "imb2021.11-PingPong-mpich5.0.2-veth.out"

SYSTEM = """\
system: site
description: Processes of this host in place of a cluster
provider: nodes
scheduler: local
launcher: local
nodes: {names: [n1, n2], exclusive: false}
fabrics:
  hsn:
    description: One rail without counters
    kind: tcp
    link: {name: test-link, data_rate_gbit_s: 100, headers: tcp, mtu: 65536, limit_from: 1M, source: this test}
    rails:
      - {device: lo, counters: none}
stacks:
  mpich:
    prefix: mpi
    benchmarks: {imb: ./recorded.sh}
  intelmpi:
    prefix: mpi
    benchmarks: {imb: ./recorded.sh}
disabled:
  - {stack: intelmpi, reason: the licence is out}
"""
REFERENCES = """\
system: site
entries:
  - id: floor
    fabric: hsn
    benchmark: imb/PingPong
    metric: bandwidth
    unit: MB/s
    kind: contract
    floor: 400
    sizes: {from: 1M}
    source: {document: this test, date: 2026-11-21}
  - id: curve
    fabric: hsn
    benchmark: imb/PingPong
    metric: latency
    unit: us
    kind: published
    curve: {1: 120, 1K: 250}
    tolerance: {high: 1}
    source: {document: this test, date: 2026-11-21}
below_link: {share: 0.02, reason: what is played was recorded over a slower link}
"""
SETTINGS = """\
from railyard.siteconfig import build

site_configuration = build(__file__)
"""
CHECKS = """\
import reframe as rfm

from railyard.check import InterconnectCheck
from railyard.parsers import imb


class Recorded(InterconnectCheck):
    tool = "imb"
    benchmark = "PingPong"
    parse = staticmethod(imb.parse)

    def arguments(self, sizes):
        return ["PingPong"]


@rfm.simple_test
class First(Recorded):
    pass


@rfm.simple_test
class Second(Recorded):
    pass
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a healthy site whose benchmark prints a recorded output."""
    for name, text in {
        "systems/site.yaml": SYSTEM,
        "references/site.yaml": REFERENCES,
        "reframe_settings.py": SETTINGS,
        "checks/recorded.py": CHECKS,
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    benchmark(tmp_path, "")
    monkeypatch.setenv("RAILYARD_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def benchmark(home: Path, more: str) -> None:
    """Write the benchmark: it prints the recorded output, and the text of a shell."""
    shutil.copy(RECORDED, home / "recorded.out")
    program = home / "recorded.sh"
    program.write_text(f"#!/bin/sh\n{more}\ncat '{home}/recorded.out'\n", encoding="utf-8")
    program.chmod(0o755)


def ran(words: Sequence[str]) -> tuple[int, str, str]:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stdout + done.stderr
    return done.returncode, done.stdout, done.stderr


@dataclass(frozen=True)
class Edit:
    """One change in the healthy site's files, and the whole expected message."""

    file: str
    old: str
    new: str
    said: str


SYS, REF = "systems/site.yaml", "references/site.yaml"
NAME = 'a name of letters, digits, "_", ".", ":" and "-" that begins with a letter or digit'
DEVICE = f"{SYS}:13: fabrics.hsn.rails[0].device: found"

EDITS: Mapping[str, Edit] = {
    # YAML
    "empty": Edit(SYS, SYSTEM, "", f"{SYS}:1: found an empty file, expected a mapping of fields"),
    "empty-references": Edit(REF, REFERENCES, "\n", f"{REF}:1: found an empty file, expected a mapping of fields"),
    "mistyped": Edit(
        SYS, "fabrics:", "fabriks:",
        f'{SYS}:1: fabrics: found nothing, expected the field "fabrics"; add it\n'
        f'{SYS}:7: fabriks: found the unknown field "fabriks", expected a known field; did you mean "fabrics"?',
    ),
    "key-twice": Edit(
        SYS, "scheduler: local", "scheduler: local\nscheduler: slurm",
        f'{SYS}:5: scheduler: found the key "scheduler" for the second time, '
        "expected each key once (it is in line 4 already)",
    ),
    "tab": Edit(SYS, "  hsn:", "\thsn:", f"{SYS}:8: found a tab, expected blanks as indentation"),
    "not-utf8": Edit(SYS, "Processes", "Proc\udcffsses", f"{SYS}:2: found the byte 0xff, expected UTF-8 text"),
    # names that do not fit
    "unknown-stack": Edit(
        SYS, "  mpich:", "  mpch:",
        f'{SYS}:15: stacks.mpch: found "mpch", expected a stack of docs/reference/stacks.md; did you mean "mpich"? '
        "If it is another MPI, declare it: like and differs",
    ),
    "unknown-fabric": Edit(
        REF, "fabric: hsn", "fabric: hsm",
        f'{REF}:4: entries[0].fabric: found "hsm", expected a fabric of site; did you mean "hsn"?',
    ),
    "disabled-stack": Edit(
        SYS, "{stack: intelmpi", "{stack: intel",
        f'{SYS}:22: disabled[0].stack: found "intel", expected a stack of site; did you mean "intelmpi"?',
    ),
    "rails-0": Edit(
        SYS, "{stack: intelmpi", "{rails: 0",
        f"{SYS}:22: disabled[0].rails: found 0, expected greater than or equal to 1",
    ),
    "rails-2-of-1": Edit(
        SYS, "{stack: intelmpi", "{rails: 2",
        f"{SYS}:22: disabled[0].rails: found 2, expected at most 1, the rails that site has",
    ),
    "reference-rails-2-of-1": Edit(
        REF, "fabric: hsn", "fabric: hsn\n    rails: 2",
        f"{REF}:5: entries[0].rails: found 2, expected at most 1, the rails that hsn has",
    ),
    # references
    "no-unit": Edit(
        REF, "    unit: MB/s\n", "", f'{REF}:3: entries[0].unit: found nothing, expected the field "unit"; add it'
    ),
    "no-source": Edit(
        REF, "    source: {document: this test, date: 2026-11-21}\n  - id", "  - id",
        f'{REF}:3: entries[0].source: found nothing, expected the field "source"; add it',
    ),
    "negative-tolerance": Edit(
        REF, "{high: 1}", "{high: -0.1}",
        f"{REF}:19: entries[1].tolerance.high: found -0.1, expected a fraction from 0 to 1, without a sign; "
        "low is how far a value may fall, high how far it may rise",
    ),
    "per-cent": Edit(
        REF, "{high: 1}", "{high: 5}",
        f"{REF}:19: entries[1].tolerance.high: found 5.0, expected a fraction from 0 to 1; 5 percent is 0.05",
    ),
    "sizes-fall": Edit(
        REF, "{1: 120, 1K: 250}", "{1K: 250, 1: 120}",
        f"{REF}:18: entries[1].curve.1: found 1 after 1024, expected sizes that rise",
    ),
    "nan": Edit(REF, "floor: 400", "floor: .nan", f"{REF}:9: entries[0].floor: found nan, expected a finite number"),
    "other-system": Edit(
        REF, "system: site", "system: sight",
        f'{REF}:1: system: found "sight", expected "site", the name of the file; '
        "these references belong to another system",
    ),
    # text that a shell would interpret
    "device-option": Edit(
        SYS, "device: lo", "device: --help", f'{DEVICE} "--help", expected {NAME}; a program would read it as an option'
    ),
    "device-command": Edit(
        SYS, "device: lo", "device: $(touch pwned)",
        f'{DEVICE} "$(touch pwned)", expected {NAME}; a shell would run what is in "$("',
    ),
    "device-backticks": Edit(
        SYS, "device: lo", 'device: "`touch pwned`"',
        f'{DEVICE} "`touch pwned`", expected {NAME}; a shell would run what is in backticks',
    ),
    "device-semicolon": Edit(
        SYS, "device: lo", "device: lo;touch pwned",
        f'{DEVICE} "lo;touch pwned", expected {NAME}; a shell would end its command at ";"',
    ),
    "device-newline": Edit(
        SYS, "device: lo", 'device: "lo\\ntouch pwned"',
        f'{DEVICE} "lo\\ntouch pwned", expected {NAME}; a shell would end its command at the line\'s end',
    ),
    "executable-command": Edit(
        SYS, "./recorded.sh", '"./recorded.sh;touch pwned"',
        f'{SYS}:17: stacks.mpich.benchmarks.imb: found "./recorded.sh;touch pwned", '
        'expected a path without blanks and shell characters; a shell would end its command at ";"',
    ),
    "scheduler-option": Edit(
        SYS, "launcher: local", 'launcher: local\naccess: ["--partition=a\\nb"]',
        f'{SYS}:6: access[0]: found "--partition=a\\nb", expected one line without control characters; a job\'s script '
        "would break at them",
    ),
}  # fmt: skip


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_a_broken_file_is_refused_by_run(home: Path, capsys: pytest.CaptureFixture[str], edit: Edit) -> None:
    text = (home / edit.file).read_text(encoding="utf-8")
    assert edit.old in text
    (home / edit.file).write_text(text.replace(edit.old, edit.new, 1), encoding="utf-8", errors="surrogateescape")
    assert main(["run", "--system", "site"]) == 2
    assert capsys.readouterr() == ("", f"railyard: {edit.said}\n")
    assert not (home / ".railyard").exists() and not (home / "pwned").exists()


OPTIONS: Mapping[str, tuple[Sequence[str], str]] = {
    "system": (["run", "--system", "sit"], '--system: found "sit", expected a file in systems/; did you mean "site"?'),
    "system-of-the-matrix": (
        ["matrix", "--system", "sit"],
        'systems/: found no system "sit", expected a system of that name; did you mean "site"?',
    ),
    "system-command": (
        ["run", "--system", "$(touch pwned)"],
        '--system: found "$(touch pwned)", expected a file in systems/; known: site',
    ),
    "fabric": (
        ["run", "--system", "site:hsm"],
        '--system: found fabric "hsm", expected one of site; did you mean "hsn"?',
    ),
    "no-fabric": (["run", "--system", "site:"], '--system: found fabric "", expected one of site; known: hsn'),
    "stack": (
        ["run", "--system", "site", "-p", "mpch"],
        '-p: found "mpch", expected a stack of site; did you mean "mpich"?',
    ),
    "stack-when-listing": (
        ["run", "--system", "site", "-l", "--prgenv=mpch"],
        '-p: found "mpch", expected a stack of site; did you mean "mpich"?',
    ),
    "rails-0": (
        ["run", "--system", "site", "-n", "%rails=0"],
        "-n %rails=0: found 0 rails, expected 1: site has no tests for other numbers",
    ),
    "rails-2-of-1": (
        ["run", "--system", "site:hsn", "-nFirst%rails=2"],
        "-n First%rails=2: found 2 rails, expected 1: site:hsn has no tests for other numbers",
    ),
    "rails-assigned": (
        ["run", "--system", "site", "-P", "rails=2"],
        "-P rails=2: found 2 rails, expected 1: site has no tests for other numbers",
    ),
    "verdicts-off": (
        ["run", "--system", "site", "--skip-sanity-check"],
        "--skip-sanity-check: found an option that switches verdicts off, expected every test to be judged; "
        "leave it out",
    ),
    "no-earlier-run": (
        ["run", "--system", "site", "--failed"],
        "HOME/.railyard/runs: found no earlier run, expected one to repeat the failures of; run without --failed",
    ),
}


@pytest.mark.parametrize(("words", "said"), OPTIONS.values(), ids=OPTIONS)
def test_a_wrong_option_is_refused(
    home: Path, capsys: pytest.CaptureFixture[str], words: Sequence[str], said: str
) -> None:
    assert main(words) == 2
    assert capsys.readouterr() == ("", f"railyard: {said.replace('HOME', str(home))}\n")
    assert not (home / ".railyard").exists() and not (home / "pwned").exists()


def under_slurm(home: Path, monkeypatch: pytest.MonkeyPatch, sbatch: str) -> None:
    """Have the site under a Slurm whose sbatch is this shell script, and whose other commands answer nothing."""
    path = home / SYS
    text = path.read_text(encoding="utf-8").replace(
        "scheduler: local\nlauncher: local", "scheduler: slurm-nodb\nlauncher: srun"
    )
    path.write_text(text, encoding="utf-8")
    for name in ("sbatch", "srun", "scancel", "scontrol", "squeue", "sinfo"):
        program = home / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n{sbatch if name == 'sbatch' else ':'}\n", encoding="utf-8")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{home / 'bin'}:{os.environ['PATH']}")


def test_a_job_that_sbatch_refuses_is_a_set_up_that_cannot_work(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    under_slurm(home, monkeypatch, "echo 'sbatch: error: invalid account specified' >&2; exit 1")
    assert main(["run", "--system", "site", "-p", "mpich"]) == 2
    said = " ".join(capsys.readouterr().out.split())
    assert "command 'sbatch rfm_job.sh' failed with exit code 1: sbatch: error: invalid account specified" in said
    assert said.endswith("no test could begin: the failures above say what is wrong with the set-up")
    (run,) = (home / ".railyard" / "runs").iterdir()
    assert [record.found.state for record in read_records(run / "records.jsonl").records] == ["fail", "fail"]


def test_modules_that_nothing_would_load_stop_a_run(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = home / SYS
    text = path.read_text(encoding="utf-8").replace("  mpich:\n", "  mpich:\n    modules: [mpich/4]\n")
    path.write_text(text, encoding="utf-8")
    assert main(["run", "--system", "site"]) == 2
    assert capsys.readouterr().err == (
        "railyard: systems/site.yaml: stacks.mpich.modules: found 1 module (mpich/4) and no modules_system, so "
        "nothing loads them; write modules_system (lmod, envmod or spack) into the system's file\n"
    )
    assert not (home / ".railyard" / "runs").exists()


def test_a_missing_folder_and_a_missing_table(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / REF).unlink()
    assert main(["run", "--system", "site"]) == 2
    assert capsys.readouterr().err == (
        f"railyard: {SYS}: report_only: found no {REF}, expected references; "
        "write it, or set report_only to the sentence that says why there are none\n"
    )
    (home / SYS).unlink()
    assert main(["run", "--system", "site"]) == 2
    assert capsys.readouterr().err == (
        f'railyard: {home}/systems: found no system, expected at least one *.yaml file; add one, or copy "local.yaml"\n'
    )
    (home / "systems").rmdir()
    assert main(["run", "--system", "site"]) == 2
    assert capsys.readouterr().err == (
        f"railyard: {home}: found no folder systems/, expected a Railyard site there (RAILYARD_HOME says so); "
        "make one: railyard init mysite && cd mysite; or go to your clone or site, or set RAILYARD_HOME to its folder\n"
    )


def test_two_systems_of_one_name(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(home / SYS, home / "systems" / "zwei.yaml")
    assert main(["matrix", "--system", "site"]) == 2
    assert capsys.readouterr() == (
        "",
        'railyard: systems/zwei.yaml:1: system: found the system "site" for the second time, '
        f"expected one file per system ({SYS} has that name); rename one\n",
    )


def test_every_wrong_value_is_said_at_once(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = SYSTEM.replace("kind: tcp", "kind: tpc").replace("device: lo", "device: -x")
    (home / SYS).write_text(text, encoding="utf-8")
    assert main(["matrix", "--system", "site"]) == 2
    assert capsys.readouterr().err == (
        f'railyard: {SYS}:10: fabrics.hsn.kind: found "tpc", expected a known value; did you mean "tcp"?\n'
        f'{DEVICE} "-x", expected {NAME}; a program would read it as an option\n'
    )


def test_a_process_of_its_own_says_the_same(home: Path) -> None:
    (home / SYS).write_text(SYSTEM.replace("  hsn:", "\thsn:"), encoding="utf-8")
    sentence = f"{SYS}:8: found a tab, expected blanks as indentation"
    assert ran([RAILYARD, "matrix", "--system", "site"]) == (2, "", f"railyard: {sentence}\n")


@pytest.mark.parametrize("name", ["mistyped", "nan"])
def test_plain_reframe_stops_with_the_sentence(home: Path, name: str) -> None:
    edit = EDITS[name]
    text = (home / edit.file).read_text(encoding="utf-8")
    (home / edit.file).write_text(text.replace(edit.old, edit.new, 1), encoding="utf-8")
    code, out, err = ran([REFRAME, "--nocolor", "-C", "reframe_settings.py", "-c", "checks", "-l"])
    assert code == 1
    assert f"ERROR: failed to load configuration: {edit.said}\n" in out + err


def test_what_a_shell_would_read_stays_text_where_prose_is_allowed(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prose = "$(touch pwned) `touch pwned`; touch pwned"
    (home / SYS).write_text(SYSTEM.replace("the licence is out", f"'{prose}'"), encoding="utf-8")
    assert main(["matrix", "--why", "--system", "site"]) == 0
    assert f"disabled: {prose} (" in capsys.readouterr().out
    code, out, err = ran([RAILYARD, "run", "--system", "site", "-n", "First", "-p", "intelmpi"])
    assert (code, err) == (0, "")
    assert prose in " ".join(out.split())
    assert not list(home.rglob("pwned"))


def test_a_check_of_before_that_overrides_what_nothing_calls_any_more_fails_with_what_to_declare(home: Path) -> None:
    override = (
        "class First(Recorded):\n    def _install_launch(self, launch):\n        super()._install_launch(launch)\n"
    )
    checks = home / "checks" / "recorded.py"
    checks.write_text(CHECKS.replace("class First(Recorded):\n    pass\n", override), encoding="utf-8")
    code, out, err = ran([RAILYARD, "run", "--system", "site", "-n", "First|Second", "-p", "mpich"])
    assert (code, err) == (1, "")
    said = " ".join(out.split())
    assert "it overrides _install_launch, which nothing calls any more: declare before(), after() or" in said
    assert "2 tests: 1 pass, 1 fail" in said


def test_a_check_that_declares_by_old_names_runs_and_is_told_the_new_ones(home: Path) -> None:
    checks = home / "checks" / "recorded.py"
    declared = 'benchmark = "PingPong"\n    probe_key = "imb/PingPong"\n    check_class = "micro"'
    checks.write_text(CHECKS.replace('benchmark = "PingPong"', declared), encoding="utf-8")
    code, out, err = ran([RAILYARD, "run", "--system", "site", "-n", "First|Second", "-p", "mpich"])
    assert code == 0 and "2 tests: 2 pass, 0 fail" in " ".join(out.split()), out
    said = {line.partition(": found ")[2] for line in err.splitlines()}
    ends = "(railyard.check); the next release removes the old name"
    assert said == {
        f"Recorded.probe_key, expected probes = Probes(ping_pong='imb/PingPong') {ends}",
        f"Recorded.check_class, expected start = Start(time_limit='micro') {ends}",
    }


def test_what_an_output_holds_is_text_in_every_report(home: Path) -> None:
    hostile = 'Fatal error in <script>alert("x")</script> & \\033[31mred\\033[0m\\007\\033]0;title\\007 end'
    benchmark(home, f"printf '{hostile}\\r\\n'")
    code, out, err = ran([RAILYARD, "run", "--system", "site", "-n", "First", "-p", "mpich"])
    assert (code, err) == (1, "")
    quoted = 'Fatal error in <script>alert("x")</script> & red end'
    assert quoted in " ".join(out.split())
    (folder,) = (home / ".railyard" / "runs").iterdir()
    assert "\x1b]0;title" in (folder / "outputs" / "First_rails=1_site_hsn+mpich.out").read_text(encoding="utf-8")
    html = (folder / "report.html").read_text(encoding="utf-8")
    assert "Fatal error in &lt;script&gt;alert(&#34;x&#34;)&lt;/script&gt; &amp; red end" in html
    assert "<script>alert" not in html
    junit = (folder / "junit.xml").read_text(encoding="utf-8")
    (error,) = ElementTree.fromstring(junit).iter("error")
    assert quoted in error.attrib["message"]
    for text in (out, html, junit):
        assert not [c for c in text if (ord(c) < 32 and c not in "\t\n") or 127 <= ord(c) < 160]
    assert json.loads((folder / "records.jsonl").read_text(encoding="utf-8"))["found"]["state"] == "fail"


def test_a_full_disk_is_said_and_what_finished_is_kept(home: Path) -> None:
    (home / ".railyard").mkdir()
    benchmark(home, f"cd {home}/.railyard; test -e first && cat /dev/zero >filled 2>/dev/null; : >first")
    # The second test's benchmark fills the disk. The mount ends with its namespace, so a copy is kept.
    script = """\
mount -t tmpfs -o size=4m none .railyard || exit 99
"$@"
code=$?
rm -f .railyard/filled
cp -r .railyard kept
exit $code
"""
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    words = ["unshare", *user, "--mount", "sh", "-c", script, "sh", RAILYARD, "run", "--system", "site", "-p", "mpich"]
    code, _, err = ran(words)
    if code == 99:
        pytest.skip(f"this machine lets nobody mount a tmpfs: {err.strip()}")
    (kept,) = (home / "kept" / "runs").iterdir()
    folder = home / ".railyard" / "runs" / kept.name
    assert (code, err) == (
        2,
        f"railyard: {folder}: found no space left on device, expected to write the run's files there; "
        f"free some space and run again (what finished is kept in {folder})\n",
    )
    states = {record.test.case: record.found.state for record in read_records(kept / "records.jsonl").records}
    assert states.pop("First %rails=1 @site:hsn+mpich") == "pass"
    assert set(states.values()) <= {"fail"}  # the second one's record if there was still room for it


NO_NAMESPACES = """\
echo 0 >/proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all --inh-caps=-all "$@"
"""


def test_no_permission_for_namespaces(home: Path) -> None:
    words = ["unshare", "--user", "--map-root-user", "sh", "-c", NO_NAMESPACES, "sh"]
    if subprocess.run([*words, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine makes no user namespace in which further ones could be refused")
    code, out, err = ran([*words, RAILYARD, "testbed", "up"])
    assert (code, out) == (2, "")
    assert err == (
        "railyard: testbed: this machine does not permit namespaces (unshare: unshare failed: No space left on "
        "device): set user.max_user_namespaces to 10000 with sysctl, or run as root\n"
    )


def test_a_bridge_name_in_use_does_not_matter(home: Path) -> None:
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    taken = "for n in 0 1 2; do ip link add br$n type bridge || exit 99; done\n"
    script = taken + '"$1" testbed up && "$1" testbed down'
    code, out, err = ran(["unshare", *user, "--net", "sh", "-c", script, "sh", RAILYARD])
    if code in (1, 99) and not out:
        pytest.skip(f"this machine lets nobody make a bridge in a network namespace: {err.strip()}")
    assert (code, err) == (0, "")
    assert out.splitlines()[-1] == "down"
