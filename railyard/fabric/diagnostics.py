"""Runs the fabric's diagnostics, and keeps what they print in a folder that ``saved`` reads: one way for both."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from railyard.cleantext import one_line
from railyard.fabric.sysfs import ports_of
from railyard.testbed.needs import SEARCH_PATH

#: Of the subnet: file, and the words of the command. sminfo first: without a manager the others take long.
SUBNET: Mapping[str, tuple[str, ...]] = {
    "sminfo.out": ("sminfo",),
    "ibnetdiscover.out": ("ibnetdiscover",),
    "iblinkinfo.out": ("iblinkinfo",),
    "ibqueryerrors.out": ("ibqueryerrors",),
}
LATER = "ibqueryerrors-later.out"
#: Of this node alone, without any right.
OWN: Mapping[str, tuple[str, ...]] = {
    "ibv_devinfo.out": ("ibv_devinfo", "-v"),
    "ibstat.out": ("ibstat",),
    "rdma_link.out": ("rdma", "link"),
}
#: Seconds for one command: a subnet of ten thousand ports answers within a minute or two.
LIMIT_S = 300


def collect(
    folder: Path, node: str, say: Callable[[str], None], again_s: float | None = None, sys: Path = Path("/sys")
) -> None:
    """Run each diagnostic that is on PATH, its output to a file; after ``again_s`` seconds counters once more.

    A command that is not there, or prints nothing, leaves no file; ``say`` is told. Nothing is changed on the fabric.
    """
    own = folder / node
    own.mkdir(parents=True, exist_ok=True)
    for file, words in SUBNET.items():
        # That no manager answers is an answer of sminfo's.
        _run(words, folder / file, say, keeps_failure=words[0] == "sminfo")
    counted = time.monotonic()
    collect_own(own, say, sys)
    if again_s is not None and (folder / "ibqueryerrors.out").is_file():
        time.sleep(max(0.0, again_s - (time.monotonic() - counted)))
        _run(SUBNET["ibqueryerrors.out"], folder / LATER, say)


def collect_own(folder: Path, say: Callable[[str], None], sys: Path = Path("/sys")) -> None:
    """Run the commands that show this node's own ports; nothing where it has no RDMA device."""
    for file, words in OWN.items():
        _run(words, folder / file, say)
    for device in sorted({str(port.device) for port in ports_of(sys, "") if port.link_layer == "Ethernet"}):
        for netdev in _netdevs(sys / "class/infiniband" / device / "device/net"):
            _run(("dcb", "pfc", "show", "dev", netdev), folder / f"dcb-{device}.out", say)


def _run(words: tuple[str, ...], file: Path, say: Callable[[str], None], *, keeps_failure: bool = False) -> None:
    program = shutil.which(words[0], path=SEARCH_PATH)
    if program is None:
        say(f"{words[0]} is not installed: what it shows is not judged")
        return
    environment = {**os.environ, "PATH": SEARCH_PATH, "LC_ALL": "C"}
    try:
        done = subprocess.run(
            [program, *words[1:]],
            capture_output=True, text=True, errors="replace", timeout=LIMIT_S, check=False, env=environment,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        say(f"{' '.join(words)} did not end in {LIMIT_S} s: what it shows is not judged")
        return
    except OSError as error:
        say(f"{program} does not run ({error.strerror}): what it shows is not judged")
        return
    if not done.stdout.strip() and not (keeps_failure and done.stderr.strip()):
        said = next((line.strip() for line in done.stderr.splitlines() if line.strip()), "nothing")
        say(f"{' '.join(words)} printed no port (exit code {done.returncode}): {one_line(said)}")
        return
    # ibqueryerrors exits 1 where it finds errors; what failed in part is told on the error output alone.
    text = done.stdout if done.returncode == 0 else f"{done.stdout}{done.stderr}"
    file.write_text(text, encoding="utf-8")


def _netdevs(folder: Path) -> list[str]:
    try:
        return sorted(path.name for path in folder.iterdir())
    except OSError:
        return []
