"""`railyard spack …` as a person types it: every line that it prints."""

import json
import os
import re
import time
from pathlib import Path

import pytest

from railyard.cli.main import main
from railyard.provision.spack import detect
from railyard.provision.spack.detect import FoundProgram
from tests.made.spack_site import MadeSite


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str], site: MadeSite) -> "Say":
    return Say(capsys)


class Say:
    """Runs one command line and returns its code, lines and errors; an age of seconds reads 0, as no test is of it."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def __call__(self, *words: str) -> tuple[int, list[str], str]:
        code = main(["spack", *words])
        out, err = self.capsys.readouterr()
        return code, re.sub(r"\b[0-9]+ s old", "0 s old", out).splitlines(), err


def folder(site: MadeSite, stack: str) -> Path:
    request = site.request(stack)
    return request.place / request.sources().key()


def test_install_builds_both_stacks_and_then_finds_them(site: MadeSite, say: Say) -> None:
    code, lines, _ = say("install", "--system", "made")
    assert code == 0
    assert lines[0] == f"spack: building openmpi for made in {folder(site, 'openmpi')}"
    assert lines[1:3] == ["spack:   solving what it consists of, about 20 s on two cores", "==> Concretized 2 specs:"]
    assert [line for line in lines if ", built " in line and not line.startswith("spack:")] == [
        line for line in lines if line.startswith(("openmpi: imb, osu for openmpi@4.1.4", "mpich: imb for mpich@5.0.2"))
    ]
    assert len(site.commands) == 8
    site.forget_calls()
    code, lines, _ = say("install", "--system", "made")
    assert (code, len(lines), site.calls) == (0, 2, [])


def test_v_prints_each_command_before_it_runs(site: MadeSite, say: Say) -> None:
    _, lines, _ = say("install", "--system", "made", "--stack", "mpich", "-v")
    place = folder(site, "mpich") / "mpich"
    assert [line for line in lines if line.startswith("$")] == [
        f"$ SPACK_DISABLE_LOCAL_CONFIG=1 {site.bin}/spack --version",
        f"$ SPACK_DISABLE_LOCAL_CONFIG=1 {site.bin}/spack -e {place} concretize",
        f"$ SPACK_DISABLE_LOCAL_CONFIG=1 {site.bin}/spack -e {place} install --fail-fast",
        f"$ SPACK_DISABLE_LOCAL_CONFIG=1 {site.bin}/spack -e {place} find --format '{{hash}} {{prefix}}'",
    ]


def test_status_of_what_is_not_built_and_of_what_is(site: MadeSite, say: Say) -> None:
    assert say("status", "--system", "made") == (
        1,
        [
            "openmpi    not built; type: railyard spack install --system made --stack openmpi",
            "mpich      not built; type: railyard spack install --system made --stack mpich",
        ],
        "",
    )
    say("install", "--system", "made")
    assert say("status", "--system", "made", "--stack", "mpich") == (
        0, [f"mpich      imb for mpich@5.0.2, 0 s old, 0 MB; {folder(site, 'mpich')}"], "",
    )  # fmt: skip
    code, lines, _ = say("status", "--system", "made", "--json")
    found = json.loads("\n".join(lines))
    assert (code, [(each["stack"], each["current"], each["stale"]) for each in found]) == (
        0, [("openmpi", True, None), ("mpich", True, None)],
    )  # fmt: skip


def test_status_of_what_is_old_unfinished_or_changed(site: MadeSite, say: Say) -> None:
    say("install", "--system", "made", "--stack", "mpich")
    old = folder(site, "mpich")
    site.edit("spack_envs/mpich/spack.yaml", "view: false", "view: true")
    new = folder(site, "mpich")
    new.mkdir()
    assert say("status", "--system", "made", "--stack", "mpich")[:2] == (
        1,
        [
            f"mpich      a build that did not end; {new}",
            f"mpich      of older sources: imb for mpich@5.0.2, 0 s old, 0 MB; {old}",
        ],
    )
    file = new / "railyard.json"
    file.write_text('{"format": 1}', encoding="utf-8")
    assert say("status", "--system", "made", "--stack", "mpich")[1][0] == (
        f"mpich      built by an older Railyard, to be proven again; {new}"
    )
    (site.home / "mpi/mpich/lib/libmpi.so.12.1.2").unlink()
    assert say("status", "--system", "made", "--stack", "mpich")[1][1] == (
        f"mpich      of older sources: not what was built: {site.home}/mpi/mpich/lib/libmpi.so.12: no such file or "
        f"directory; benchmarks were linked to it; {old}"
    )


def test_gc_removes_old_environments_and_keeps_every_systems_packages(site: MadeSite, say: Say) -> None:
    say("install", "--system", "made")
    site.edit("spack_envs/mpich/spack.yaml", "view: false", "view: true")
    old = next(site.request("mpich").place.glob("?" * 16))
    other = site.write(".railyard/spack/another/openmpi/0123456789abcdef/openmpi/spack.lock", "{}").parent
    site.forget_calls()
    code, lines, _ = say("gc", "--system", "made")
    assert (code, lines) == (0, [f"removing {old}", "1 environment removed"])
    kept = sorted([str(other), str(folder(site, "openmpi") / "openmpi")])
    words = [word for place in kept for word in ("--except-environment", place)]
    assert [call["words"] for call in site.calls] == [["-e", kept[0], "gc", "--yes-to-all", *words]]
    assert not old.exists()


def test_gc_leaves_an_install_tree_of_the_sites_alone(site: MadeSite, say: Say) -> None:
    site.edit(
        "systems/spack/made.yaml", "packages:\n", f"config: {{install_tree: {{root: {site.home}/sw}}}}\npackages:\n"
    )
    say("install", "--system", "made")
    site.forget_calls()
    assert say("gc", "--system", "made") == (
        0,
        [
            "the site names the install tree, which may have packages of others: nothing in it is removed",
            "0 environments removed",
        ],
        "",
    )
    assert site.calls == []


def test_lock_shows_the_difference_before_it_writes(site: MadeSite, say: Say) -> None:
    path = site.home / "systems/spack/made/mpich.lock"
    assert say("lock", "--system", "made", "--stack", "mpich", "--yes")[1] == [
        "mpich: a first lock",
        f"mpich: written to {path}",
    ]
    assert say("lock", "--system", "made", "--stack", "mpich")[1] == ["mpich: nothing changes"]
    site.behave(versions={"intel-mpi-benchmarks": "2021.8"}, packages=["intel-mpi-benchmarks"])
    code, lines, _ = say("lock", "--system", "made", "--stack", "mpich", "--yes")
    assert code == 0
    assert lines[0].startswith("mpich: ~ intel-mpi-benchmarks@2021.7 /")
    assert " -> intel-mpi-benchmarks@2021.8 /" in lines[0]
    assert lines[1].startswith("mpich: - osu-micro-benchmarks@7.4 /")
    assert lines[2:] == [f"mpich: written to {path}"]


def test_lock_writes_nothing_without_a_yes(site: MadeSite, say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    path = site.home / "systems/spack/made/mpich.lock"
    with open(os.devnull, encoding="utf-8") as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        code, lines, err = say("lock", "--system", "made", "--stack", "mpich")
    assert (code, lines[0], err.splitlines()[-1]) == (130, "mpich: a first lock", "railyard: interrupted")
    assert not path.exists()


def test_mirror_create(site: MadeSite, say: Say, tmp_path: Path) -> None:
    code, lines, _ = say("mirror", "create", str(tmp_path / "m"), "--system", "made", "--stack", "mpich")
    assert (code, lines[-1]) == (
        0, f'in the overlay there: mirrors: {{sources: {{url: "file://{tmp_path}/m", binary: false}}}}',
    )  # fmt: skip
    assert site.commands == ["--version", "concretize", "mirror"]
    assert site.calls[-1]["words"][2:] == ["mirror", "create", "--directory", f"{tmp_path}/m", "--all"]
    assert (tmp_path / "m/_source-cache/intel-mpi-benchmarks").is_file()


def test_mirror_create_leaves_a_finished_build_alone(site: MadeSite, say: Say, tmp_path: Path) -> None:
    say("install", "--system", "made", "--stack", "mpich")
    say("mirror", "create", str(tmp_path / "m"), "--system", "made", "--stack", "mpich")
    assert say("status", "--system", "made", "--stack", "mpich")[0] == 0


def test_cache_push(site: MadeSite, say: Say, tmp_path: Path) -> None:
    assert say("cache", "push", str(tmp_path / "c"), "--system", "made", "--stack", "mpich") == (
        2,
        [],
        "railyard: mpich on made: found no build, expected a build to push; type: railyard spack install --system made "
        "--stack mpich\n",
    )
    say("install", "--system", "made", "--stack", "mpich")
    code, lines, _ = say("cache", "push", str(tmp_path / "c"), "--system", "made", "--stack", "mpich")
    assert (code, lines[-1]) == (
        0, f'in the overlay there: mirrors: {{binaries: {{url: "file://{tmp_path}/c", source: false, signed: false}}}}',
    )  # fmt: skip
    assert site.calls[-1]["words"][2:] == ["buildcache", "push", "--unsigned", "--update-index", f"{tmp_path}/c"]


def test_detect(site: MadeSite, say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detect, "seen_packages", lambda: (FoundProgram("openmpi", "4.1.4", "/usr"),))
    path = site.home / "systems/spack/made.yaml"
    assert say("detect", "--system", "made")[2] == (
        f"railyard: {path}: found an overlay already, expected none, or --replace; --print shows what would be "
        "written; edit the file by hand if that shows more\n"
    )
    code, lines, _ = say("detect", "--system", "made", "--replace")
    assert (code, lines[0]) == (0, f"1 packages written to {path}: review it")
    assert lines[1].startswith("trap: openmpi@4.1.4 has the prefix /usr, ")


MISTAKES = [
    (
        ("--system", "mad"),
        '--system: found "mad", expected a file in systems/; did you mean "made"?',
    ),
    (
        ("--system", "made", "--stack", "opnmpi"),
        '--stack: found "opnmpi", expected one that Spack builds on made; did you mean "openmpi"?',
    ),
    (
        ("--system", "plain"),
        "systems/plain.yaml: found no stack with spack, expected at least one that Spack builds (docs/howto/spack.md)",
    ),
]


@pytest.mark.parametrize("command", ["install", "status", "lock"])
@pytest.mark.parametrize(("words", "sentence"), MISTAKES)
def test_mistakes(site: MadeSite, say: Say, command: str, words: tuple[str, ...], sentence: str) -> None:
    text = (site.home / "systems/made.yaml").read_text(encoding="utf-8")
    stacks = "stacks:\n  openmpi: {prefix: mpi/openmpi, benchmarks: {imb: imb}}\n"
    site.write("systems/plain.yaml", text.split("stacks:")[0].replace("system: made", "system: plain") + stacks)
    site.write("references/plain.yaml", (site.home / "references/made.yaml").read_text().replace("made", "plain"))
    assert say(command, *words) == (2, [], f"railyard: {sentence}\n")


def test_a_failed_install_is_one_sentence_and_2(site: MadeSite, say: Say) -> None:
    site.behave(fail={"concretize": "==> Error: No version exists that satisfies these input specs:\n    netpipe@5\n"})
    code, _, err = say("install", "--system", "made", "--stack", "mpich")
    place = folder(site, "mpich")
    assert (code, err) == (
        2,
        f"railyard: spack -e {place}/mpich concretize: nothing satisfies all that is asked for: No version exists that "
        "satisfies these input specs: netpipe@5; change one of them in spack_envs/ or in the system's overlay (all of "
        f"it: {place}/spack.log)\n",
    )
    log = (place / "spack.log").read_text(encoding="utf-8").splitlines()
    assert log[0] == f"$ SPACK_DISABLE_LOCAL_CONFIG=1 {site.bin}/spack -e {place}/mpich concretize"
    assert log[-1] == "    netpipe@5"


@pytest.mark.parametrize(("seconds", "words"), [(5, "5 s"), (125, "2 min"), (7300, "2 h"), (3 * 86400, "3 days")])
def test_age(seconds: int, words: str) -> None:
    from datetime import datetime, timezone

    from railyard.provision.spack.build import age

    now = datetime.fromtimestamp(time.time(), timezone.utc)
    then = datetime.fromtimestamp(int(now.timestamp()) - seconds, timezone.utc)
    assert age(f"{then:%Y-%m-%dT%H:%M:%SZ}", now) == words
