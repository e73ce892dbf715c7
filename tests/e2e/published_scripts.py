"""Job scripts of published clusters, as a dry run shows them: ``tests/sites/published`` has their systems' files.

``scripts/SYSTEM.txt`` has one part for each stack: of its everyday test with the most rails what the scheduler, the
environment and the launcher get. ``python -m tests.e2e.published_scripts`` writes them again; read each as an expert of
that machine would, before you commit it.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CLONE = Path(__file__).parents[2]
SITE = CLONE / "tests/sites/published"
SYSTEMS = tuple(sorted(path.stem for path in (SITE / "systems").glob("*.yaml")))
#: Beginnings of the lines that the machine's expert reads.
_KEPT = ("#SBATCH", "#PBS", "#$", "module ", ". ", "source ", "export ", "unset ", "srun ", "mpirun ", "timeout ")
#: What ReFrame's user decides (root needs them for Open MPI), and the masks of names that change with each run.
_OF_USER = "export OMPI_ALLOW_RUN_AS_ROOT"
_MASKS = ((r"\b[0-9a-f]{8}-[0-9a-f]{14,18}\b", "TAG"), (r"(rfm_\w+|/\w+)_[0-9a-f]{8}\b", r"\1_HASH"))
#: The tests that are shown, the preferred one first.
_TESTS = ("OsuBandwidth", "NcclAllReduce", "OsuMessageRate")


def site_at(folder: Path) -> Path:
    """Return a site with all published systems, made below a folder."""
    shutil.copytree(SITE / "systems", folder / "systems")
    shutil.copy(CLONE / "reframe_settings.py", folder)
    return folder


def scripts(system: str, folder: Path) -> str:
    """Return a system's part: its stacks' scripts, after a dry run in the site that is made in ``folder``.

    Raises AssertionError with what the run printed if it fails.
    """
    site = site_at(folder)
    names = f"^({'|'.join(_TESTS)})"
    ran = subprocess.run(
        [sys.executable, "-m", "railyard", "run", "--system", system, "--dry-run", "-n", names], cwd=site,
        env={**os.environ, "NO_COLOR": "1"}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout
    shown = re.findall(r"DRY +\] (\w+)(?: %rails=(\d+))?([^/]*)/(\w+) @\w+:(\w+)\+(\w+)", ran.stdout)
    most: dict[str, tuple[tuple[int, int], str, Path]] = {}
    for test, rails, more, digest, fabric, stack in (each for each in shown if each[0] in _TESTS):
        rank = (int(rails or 1), -_TESTS.index(test))
        if stack not in most or rank > most[stack][0]:
            path = site / f".railyard/reframe/stage/{system}/{fabric}/{stack}/{test}_{digest}/rfm_job.sh"
            most[stack] = (rank, f"{test} {more.strip()}".strip() + f", rails: {rails or 1}", path)
    parts = [
        f"## {stack}: {title}\n{_kept_lines(path.read_text(encoding='utf-8'), site)}"
        for stack, (_, title, path) in sorted(most.items())
    ]
    return "\n".join(parts)


def _kept_lines(script: str, site: Path) -> str:
    lines = script.replace(str(site), "SITE").splitlines()
    kept = [line for line in lines if line.startswith(_KEPT) and not line.startswith(_OF_USER)]
    text = "\n".join(re.sub(r" \|\| \{ echo .*", "", line) for line in kept) + "\n"
    for pattern, mask in _MASKS:
        text = re.sub(pattern, mask, text)
    return text


def _write() -> None:
    for system in sys.argv[1:] or SYSTEMS:
        with tempfile.TemporaryDirectory() as folder:
            path = SITE / f"scripts/{system}.txt"
            path.parent.mkdir(exist_ok=True)
            path.write_text(scripts(system, Path(folder) / "site"), encoding="utf-8")
        sys.stdout.write(f"{path.relative_to(CLONE)}\n")


if __name__ == "__main__":
    _write()
