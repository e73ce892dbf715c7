"""The path of a new user: a recorded tree, detect, matrix, ReFrame's dry run, a verdict on a synthetic output."""

import re
import shlex
import time
from pathlib import Path

import pytest

from tests.e2e.conftest import CLONE, RAILYARD, Ran, VirtualSite, make_site
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.e2e

TREE = CLONE / "tests" / "trees" / "dual-rail-hdr.tree"
PAGE = (CLONE / "docs" / "start" / "new-cluster.md").read_text(encoding="utf-8")
#: Synthetic: a window of messages over one healthy rail of HDR.
OUTPUT = """\
# OSU MPI Bandwidth Test v7.4
# Datatype: MPI_CHAR.
# Size      Bandwidth (MB/s)
1048576             23900.00
2097152             24050.00
4194304             24100.00
"""


def call(site: VirtualSite, *words: str) -> Ran:
    """Run `railyard` without the machine's lock: nothing is measured here."""
    begun = time.monotonic()
    with site.start(*RAILYARD, *words) as running:
        out, err = running.communicate(timeout=PATIENCE_S)
    return Ran(running.returncode, out, err, time.monotonic() - begun, ())


@pytest.mark.full
def test_from_a_recording_to_a_verdict(tmp_path: Path) -> None:
    site = make_site(tmp_path)
    (site.folder / "spack_envs").symlink_to(CLONE / "spack_envs")
    begun = time.monotonic()
    tree = tmp_path / "node.tree"
    tree.write_text(f"{TREE.read_text(encoding='utf-8')}which xhpl = /opt/hpl/bin/xhpl\n", encoding="utf-8")
    detected = call(site, "detect", "--root", str(tree), "--write")
    assert detected.code == 0, detected.full_text
    # This machine has neither Lmod, which ReFrame needs if the file names it, nor the recorded machine's OSU.
    site.edit("systems/hdrsys.yaml", "modules_system: lmod\n", "")
    program = site.folder / "osu/pt2pt/osu_bw"
    program.parent.mkdir(parents=True)
    program.touch(mode=0o755)
    site.edit("systems/hdrsys.yaml", "/opt/osu/libexec/osu-micro-benchmarks/mpi", str(site.folder / "osu"))
    (site.folder / "hpl").touch(mode=0o755)
    site.edit("systems/hdrsys.yaml", "/opt/hpl/bin/xhpl", str(site.folder / "hpl"))
    matrix = call(site, "matrix", "--system", "hdrsys")
    assert (matrix.code, matrix.err) == (0, "")
    dry = call(site, "run", "--system", "hdrsys:hdr", "--dry-run", "-n", "OsuBandwidth", "-p", "openmpi")
    assert dry.code == 0, dry.full_text
    assert "OsuBandwidth %rails=1" in dry.out
    assert "OsuBandwidth %rails=2" in dry.out
    stage = site.folder / ".railyard/reframe/stage"
    assert f"2 job scripts of 2 tests below {stage}; {stage}/hdrsys/hdr/openmpi/OsuBandwidth_" in dry.out
    assert "#SBATCH --ntasks-per-node=1\n" in dry.out.partition("2 job scripts of 2 tests")[2]
    assert "#SBATCH --exclusive\n" in dry.out
    hpl = call(site, "run", "--system", "hdrsys:hdr", "--dry-run", "-n", "Hpl%rails=1", "-p", "openmpi")
    assert hpl.code == 0, hpl.full_text
    assert "#SBATCH --ntasks=7168\n#SBATCH --ntasks-per-node=128\n" in hpl.out  # 56 nodes of two sockets of 64 cores
    nothing = call(site, "run", "--system", "hdrsys:hdr", "--dry-run", "-n", "NoSuch")
    assert nothing.code == 2, nothing.full_text
    assert '-n NoSuch: found no check "NoSuch", expected the class of a check; ' in nothing.err
    (site.folder / "osu_bw.out").write_text(OUTPUT, encoding="utf-8")
    judged = call(site, "judge", "osu_bw.out", "--system", "hdrsys", "--fabric", "hdr", "--stack", "openmpi")
    assert judged.code == 0, judged.full_text
    assert "report-only" in judged.out
    print(f"the path of a new user took {time.monotonic() - begun:.1f} s")


def page_lines(begins: str) -> list[str]:
    """Return the lines of the page's block whose first line begins like this, without a command."""
    (block,) = [text for text in PAGE.split("```") if text.partition("\n")[2].startswith(begins)]
    return [line for line in block.splitlines()[1:] if not line.startswith("$ ")]


def missing_lines(begins: str, said: str) -> list[str]:
    """Return the lines of that block that were not printed; an ellipsis matches any text."""
    patterns = {line: ".*".join(map(re.escape, line.split("…"))) for line in page_lines(begins)}
    return [line for line, pattern in patterns.items() if not re.search(f"^{pattern}$", said, re.MULTILINE)]


def test_the_page_shows_what_is_printed(tmp_path: Path) -> None:
    site = make_site(tmp_path)
    (site.folder / "spack_envs").symlink_to(CLONE / "spack_envs")
    detected = call(site, "detect", "--root", str(TREE), "--write")
    assert (
        missing_lines("$ .venv/bin/railyard detect --root node.tree --write\nlook", detected.out + detected.err) == []
    )
    written = (site.folder / "systems/hdrsys.yaml").read_text(encoding="utf-8")
    assert missing_lines("  # GUESSED", written) == []
    assert (
        missing_lines("$ .venv/bin/railyard matrix --system hdrsys", call(site, "matrix", "--system", "hdrsys").out)
        == []
    )
    site.edit("systems/hdrsys.yaml", "modules_system: lmod\n", "")
    program = site.folder / "osu/pt2pt/osu_bw"
    program.parent.mkdir(parents=True)
    program.touch(mode=0o755)
    site.edit("systems/hdrsys.yaml", "/opt/osu/libexec/osu-micro-benchmarks/mpi", str(site.folder / "osu"))
    command = "$ .venv/bin/railyard run --system hdrsys:hdr --dry-run"
    words = shlex.split(next(line for line in PAGE.splitlines() if line.startswith(command)))
    assert missing_lines(command, call(site, *words[2:]).out) == []
