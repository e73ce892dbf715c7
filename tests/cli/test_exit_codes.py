"""What a wrong command line is answered with: each command, its exit code and its sentence; nothing is started."""

import shlex
from collections.abc import Mapping
from pathlib import Path

import pytest

from railyard.cli.main import main

NO_SYSTEM = 'systems/: found no system "{}", expected a system of that name; did you mean "{}"?'
NO_RUN = '"nosuch": found no run and no folder with this name, expected one; known: 20261114T010000Z-aa01, '
NO_FILE = "nosuch: found no such file, expected the text output of a benchmark; check the name"
NUMBER = "expected a number of at least 0 (see: railyard run --help)"
FORMS = ".html, .htm, .xml, .json, .md, .csv or .txt; or name it by --format"
#: Command line -> how its sentence begins, behind "railyard: ".
MISTAKES: Mapping[str, str] = {
    # a system, a fabric or a stack that is not there
    "run --system mycluser": '--system: found "mycluser", expected a file in systems/; did you mean "mycluster"?',
    "run --system dell-c6320:edrr": '--system: found fabric "edrr", expected one of dell-c6320; did you mean "edr"?',
    "run --system dell-c6320 -p hpx": '-p: found "hpx", expected a stack of dell-c6320; did you mean "hpcx"?',
    "rehearse --system mycluser": '--system: found "mycluser", expected a file in systems/; did you mean "mycluster"?',
    "doctor --system mycluser": NO_SYSTEM.format("mycluser", "mycluster"),
    "lint --system mycluser": NO_SYSTEM.format("mycluser", "mycluster"),
    "matrix --system mycluser": NO_SYSTEM.format("mycluser", "mycluster"),
    "preflight --system mycluser": NO_SYSTEM.format("mycluser", "mycluster"),
    "preflight --system mycluster:edrr": 'preflight --system: found the fabric "edrr", expected one of mycluster; ',
    "preflight --system dell-c6320": "preflight: found dell-c6320, whose nodes no scheduler gives to jobs, expected a ",
    "preflight --system mycluster": "preflight: found no SLURM_JOB_ID, expected to run in a job of slurm: put it into ",
    "preflight --system mycluster --limit soon": '--limit: found "soon", expected a time such as 15min, 1h30m or 900s',
    "preflight --system mycluster --hosts-format nodes": '--hosts-format: found "nodes", expected slurm or hostfile',
    "gate --system mycluser": NO_SYSTEM.format("mycluser", "mycluster"),
    "soak --system mycluser --minutes 1": NO_SYSTEM.format("mycluser", "mycluster"),
    "fabric --system mycluser": NO_SYSTEM.format("mycluser", "mycluster"),
    "fabric --system mycluster --fabric edrr": 'systems/mycluster.yaml: found no fabric "edrr", expected a fabric of '
    'that name; did you mean "edr"?',
    "references --system mycluser": NO_SYSTEM.format("mycluser", "mycluster"),
    "capture --system mycluser": NO_SYSTEM.format("mycluser", "mycluster"),
    "record --published mycluser": NO_SYSTEM.format("mycluser", "mycluster"),
    "ci generate --system mycluser": NO_SYSTEM.format("mycluser", "mycluster"),
    "spack status --system mycluser": '--system: found "mycluser", expected a file in systems/; did you mean '
    '"mycluster"?',
    "stacks install nope": 'no package gives the stack "nope"; known: intelmpi, mpich, openmpi',
    "stacks status nope": 'no package gives the stack "nope"; known: intelmpi, mpich, openmpi',
    "judge osu_bw.out --system mycluser": NO_SYSTEM.format("mycluser", "mycluster"),
    "judge osu_bw.out --system dell-c6320 --fabric edrr": '--fabric: found "edrr", expected a fabric of dell-c6320; '
    'did you mean "edr"?',
    "judge osu_bw.out --link ib-ed": '--link: found "ib-ed", expected a link of docs/reference/rates.md; '
    'did you mean "ib-edr"?',
    "judge osu_bw.out --link ib-edr --slot pcie9-x16": '--slot: found "pcie9-x16", expected a slot of '
    "docs/reference/rates.md; did you mean",
    "judge osu_bw.out --class h100": 'references/classes/: found no class "h100", expected a class of that name; ',
    # a stored run, or what no stored test has
    "report nosuch": NO_RUN,
    "compare nosuch last": NO_RUN,
    "scaling nosuch": NO_RUN,
    "capture --system mycluster --runs nosuch": NO_RUN,
    "results show nosuch": NO_RUN,
    "results verify nosuch": NO_RUN,
    "results list --run nosuch": NO_RUN,
    "results list --system mycluser": '--system: found no run of "mycluser", expected a system that ran; did you mean '
    '"mycluster"?',
    "results list --fabric edrr": '--fabric: found "edrr", expected a fabric of a stored test; did you mean "edr"?',
    "results list --stack openmp": '--stack: found "openmp", expected a stack of a stored test; did you mean "openmpi"',
    "results list --benchmark osu/osu_bww": '--benchmark: found "osu/osu_bww", expected a benchmark of a stored test; '
    'did you mean "osu/osu_bw"?',
    "results export --system mycluser": '--system: found no run of "mycluser", expected a system that ran; did you '
    'mean "mycluster"?',
    "export prometheus --system mycluser": '--system: found no run of "mycluser", expected a system that ran; did you '
    'mean "mycluster"?',
    "history --system mycluser": '--system: found no run of "mycluser", expected a system that ran; did you mean '
    '"mycluster"?',
    "history --figure peek": '--figure: found "peek", expected a figure of these tests; did you mean "peak"?',
    # a file or folder that cannot be read or written
    "parse nosuch": NO_FILE,
    "parse /": "/: found a folder, expected the text output of a benchmark; name a file in it",
    "judge nosuch --link ib-edr": NO_FILE,
    "pairs judge nosuch": "nosuch: found no readable file (No such file or directory), expected ",
    "pairs next nosuch": "nosuch: found no readable file (No such file or directory), expected ",
    "pairs rails nosuch": "nosuch: found no readable file (No such file or directory), expected ",
    "doctor --system mycluster --from nosuch": "nosuch: found nothing that can be read (No such file or directory), "
    "expected what doctor.sh printed on the nodes",
    "soak --from nosuch": "nosuch: found nothing that can be read (No such file or directory), expected the readings",
    "fabric --system mycluster --from nosuch": "nosuch: found no such folder, expected a folder of saved outputs",
    "detect --root nosuch": "nosuch: found nothing that can be read (No such file or directory), expected a recording",
    "results merge nosuch": "nosuch: found no records, expected a site, a run's folder, a .jsonl or an exported .json; "
    "check the name",
    "results export -o osu_bw.out/x.json": "osu_bw.out/x.json: the export could not be written (Not a directory)",
    "report --plots osu_bw.out": '--plots: found "osu_bw.out", a file, expected a folder (see: railyard report --help)',
    "run --system dell-c6320 --copy-to osu_bw.out/x": "--copy-to osu_bw.out/x: found not a directory at "
    "osu_bw.out/x, expected a folder to write to; choose another; nothing has run yet",
    "init osu_bw.out": 'FOLDER: found "osu_bw.out", a file, expected a folder (see: railyard init --help)',
    # a value that an option does not take
    "run --system dell-c6320 --budget abc": f'--budget: found "abc", {NUMBER}',
    "run --system dell-c6320 --budget -1": f'--budget: found "-1.0", {NUMBER}',
    "report --format pfd": '--format: found "pfd", expected terminal, html, md, junit, json or csv (see: railyard '
    "report --help)",
    "report -o x.pdf": f'-o: found "x.pdf", expected a name that ends in {FORMS}',
    "report -o x": f'-o: found "x", expected a name that ends in {FORMS}',
    "results export -o x.yaml": '-o: found "x.yaml", expected a name that ends in .json or .csv; or name it by '
    "--format",
    "history -o x.pdf": '-o: found "x.pdf", expected a name that ends in .html',
    "history --since yesterday": '--since: found "yesterday", expected a time such as 2026, 2026-11 or '
    "2026-11-21T06:00 (see: railyard history --help)",
    "results list --until 21.11.2026": '--until: found "21.11.2026", expected a time such as 2026, 2026-11 or '
    "2026-11-21T06:00 (see: railyard results list --help)",
    "results list --where 'nope = 3'": '--where: found "nope = 3" (no such column: nope), expected a condition in SQL '
    'such as "peak < 47"; did you mean "nodes"?',
    "results list --state bad": '--state: found "bad", expected pass, fail, disturbed, report-only, xfail or',
    "results list --newest 0": '--newest: found "0", expected a whole number of at least 1 (see: railyard results',
    "compare last last --noise x": '--noise: found "x", expected a positive number of per cent, such as 5%',
    "doctor --system mycluster --nodes --count 0": '--count: found "0", expected a whole number of at least 1',
    "soak --minutes 0": '--minutes: found "0.0", expected a number above 0 (see: railyard soak --help)',
    "rehearse --system mycluster --nodes 1": '--nodes: found "1", expected a whole number of at least 2',
    "pairs judge --repeats 100 osu_bw.out": '--repeats: found "100", expected a whole number of at least 1 and at most '
    "99 (see: railyard pairs judge --help)",
    "judge osu_bw.out --link ib-edr --rails two": '--rails: found "two", expected a whole number (see: railyard judge',
    "judge osu_bw.out --link ib-edr --sizes 4K": '--sizes: found "4K", expected bytes: 1,4,16, or the smallest and ',
    "parse --tool osuu osu_bw.out": '--tool: found "osuu", expected a tool with a parser; did you mean "osu"?',
    "schema system": 'KIND: found "system", expected systems, references, classes, results or sick; did you mean '
    '"systems"?',
    "ci generate --executor slrum": '--executor: found "slrum", expected shell, jacamar or slurm; did you mean '
    '"slurm"? (see: railyard ci generate --help)',
    "gate --system mycluster --node 'x y'": '--node: found "x y", expected the name of a node (see: railyard gate',
    "detect --name a/b": '--name: found "a/b", expected letters, digits, "_", ".", ":" and "-"; choose another',
    "run --system dell-c6320 -n OsuBandwith": '-n OsuBandwith: found no check "OsuBandwith", expected the class of a '
    'check; did you mean "OsuBandwidth"?',
    "run --system dell-c6320 -t scalign": "-t scalign: found no check with this tag, expected one that a check has; "
    'did you mean "scaling"?',
    "run --system dell-c6320 -n OsuBandwith --dry-run": '-n OsuBandwith: found no check "OsuBandwith"',
    "run --system dell-c6320 -n OsuBandwidth -p verbs": "-n OsuBandwidth: found no such test on dell-c6320 that the "
    "other options leave, expected one that it has: ",
    "matrix -c nosuch": "-c nosuch: found no such file or folder, expected checks",
    "lint -c nosuch": "-c nosuch: found no such file or folder, expected checks",
    "record -c own": "-c: found it without --published, expected both; a run has its own checks",
    "run --system dell-c6320 --extendd": 'no such option "--extendd": neither railyard run nor reframe has it; did you '
    'mean "--extended"?',
    # what is missing, contradicts itself, or cannot be done with this system
    "judge osu_bw.out --slot pcie3-x16": "--slot: found it with no --link and no --system, expected it only with ",
    "parse": "FILE: found none, expected one (see: railyard parse --help)",
    "compare last": "B: found none, expected one (see: railyard compare --help)",
    "compare last last": '"last", "last": found the same tests on both sides, expected two sides; name other runs',
    "init": "FOLDER: found none, expected one (see: railyard init --help)",
    "spack mirror create": "FOLDER: found none, expected one (see: railyard spack mirror create --help)",
    "spack cache push": "FOLDER: found none, expected one (see: railyard spack cache push --help)",
    "stacks compile mpicc": "FOLDER: found none, expected one (see: railyard stacks compile --help)",
    "testbed exec vn1": "COMMAND: found none, expected one (see: railyard testbed exec --help)",
    "rehearse": "--system: found none, expected the system to rehearse; type: railyard rehearse --system NAME",
    "rehearse --system dell-c6320": "rehearsal: dell-c6320 has the provider replay, expected nodes; ",
    "rehearse --system virtual": "rehearsal: virtual has the provider testbed, expected nodes; ",
    "capture": "--system: found none, expected one (see: railyard capture --help)",
    "soak": "give one of --hours, --minutes and --from (see: railyard soak --help)",
    "soak --system dell-c6320 --minutes 1": "soak: found dell-c6320 (replay under the scheduler local), expected the ",
    "detect --replace": "--replace goes with --write (see: railyard detect --help)",
    "doctor --system mycluster --count 3": "--count goes with --nodes and --job (see: railyard doctor --help)",
    "doctor --system dell-c6320 --nodes": "doctor: dell-c6320 is replayed and has no nodes; leave --nodes out",
    "gate --system dell-c6320": "gate: dell-c6320 is replayed and has no nodes; name a system that runs",
    "spack install --system dell-c6320": "systems/dell-c6320.yaml: found no stack with spack, expected at least one",
    "ci generate --system virtual --executor slurm": "--executor slurm: found the scheduler local of virtual, expected",
    "run --system dell-c6320 --one-allocation": "--one-allocation: found the scheduler local of dell-c6320, expected ",
    "report --as png": "--as: found it without --plots, expected a folder for the pictures (see: railyard report",
    "testbed exec vn1 -- true": "testbed: the virtual cluster is not up: run 'railyard testbed up'",
    "testbed restore vn9": "testbed: the virtual cluster is not up: run 'railyard testbed up'",
    "testbed degrade vn2 hsn1 slow 100": "testbed: the virtual cluster is not up: run 'railyard testbed up'",
    # a command or option that is not there
    "doctr": 'no such command "doctr"; did you mean "doctor"? (see: railyard --help)',
    "export prometheuss": 'no such command "prometheuss"; did you mean "prometheus"? (see: railyard export --help)',
    "spack bild": 'no such command "bild"; known: bootstrap, cache, ',
    "judge osu_bw.out --lnk ib-edr": 'no such option "--lnk"; did you mean "--link"? (see: railyard judge --help)',
}


def there(site: Path) -> set[Path]:
    """Return all files and folders but Railyard's own notes: of these, the runs."""
    every = {path.relative_to(site) for path in site.rglob("*")}
    return {path for path in every if path.parts[0] != ".railyard" or path.parts[1:2] == ("runs",)} - {
        path for path in every if "__pycache__" in path.parts
    }


@pytest.mark.parametrize("words", MISTAKES)
def test_a_mistake_is_one_sentence_and_2(words: str, site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = there(site)
    assert main(shlex.split(words)) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"railyard: {MISTAKES[words]}"), said.err
    assert said.err.count("\n") == 1
    assert there(site) - before == set()


#: Command line -> its exit code, where it is right and says what it found.
ANSWERS: Mapping[str, int] = {
    "results list --rails 7": 0,
    "results list --tests --state fail": 0,
    "lint": 0,
    "stacks status": 1,
    "spack status --system mycluster": 1,
    "judge slow.out --link ib-edr": 1,
    "compare last5:fabric=edr last5:fabric=fdr --fail-on-regression 5%": 1,
    "compare last5:fabric=edr last5:fabric=fdr": 0,
    "report last5": 0,
}


@pytest.mark.parametrize("words", ANSWERS)
def test_an_answer_is_0_or_1(words: str, site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    slow = (site / "osu_bw.out").read_text(encoding="utf-8").replace("12400.00", " 6200.00")
    (site / "slow.out").write_text(slow, encoding="utf-8")
    assert main(shlex.split(words)) == ANSWERS[words]
    assert "Traceback" not in capsys.readouterr().err
