"""Runs the fabric's diagnostics and keeps their outputs in a folder. ``saved`` reads it like any other saved folder."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from railyard.base.clean_text import one_line
from railyard.cluster.fabric.sysfs import ports_of
from railyard.cluster.fabric.words import asked_as
from railyard.provision.testbed.needs import SEARCH_PATH

#: Commands about the subnet. They change nothing on it.
SUBNET = ("sminfo", "ibnetdiscover", "iblinkinfo", "ibqueryerrors")
#: Commands about this node only. They need no special rights.
OWN: Mapping[str, tuple[str, ...]] = {
    "ibv_devinfo.out": ("ibv_devinfo", "-v"),
    "ibstat.out": ("ibstat",),
    "rdma_link.out": ("rdma", "link"),
}
#: Limit for one command in seconds: a subnet of ten thousand ports answers within a minute or two.
LIMIT_S = 300


def collect(
    folder: Path, node: str, say: Callable[[str], None], again_s: float | None = None, sys: Path = Path("/sys")
) -> None:
    """Run each diagnostic on PATH, with its output in a file; read counters again after ``again_s`` seconds.

    A command that is missing or prints nothing leaves no file; ``say`` reports it. This changes nothing on the fabric.
    """
    own = folder / node
    own.mkdir(parents=True, exist_ok=True)
    seen = ""
    asked: list[tuple[tuple[str, ...], str]] = []
    for options, suffix, guid in _ways(sys):
        if guid and guid in seen:
            continue  # this rail is on a subnet that another rail has already shown
        for tool in SUBNET:
            # If no manager answers, sminfo fails: keep its message, since it is the answer.
            _run((tool, *options), folder / f"{tool}{suffix}.out", say, keeps_failure=tool == "sminfo")
        links = folder / f"iblinkinfo{suffix}.out"
        seen += links.read_text(encoding="utf-8") if links.is_file() else ""
        asked.append((options, suffix))
    counted = time.monotonic()
    collect_own(own, say, sys)
    if again_s is None:
        return
    time.sleep(max(0.0, again_s - (time.monotonic() - counted)))
    for options, suffix in asked:
        if (folder / f"ibqueryerrors{suffix}.out").is_file():
            _run(("ibqueryerrors", *options), folder / f"ibqueryerrors{suffix}-later.out", say)


def _ways(sys: Path) -> list[tuple[tuple[str, ...], str, str | None]]:
    """Return the options for asking from each own port that is up, the end of the files' names, and the port's GUID.

    Each rail may be on its own subnet. If no port is up, the tools choose one themselves.
    """
    up = [port for port in ports_of(sys, "") if port.link_layer == "InfiniBand" and port.is_active]
    ways: list[tuple[tuple[str, ...], str, str | None]] = []
    for port in up:
        device, number = str(port.device), port.port or 1
        ways.append((("-C", device, "-P", str(number)), f"-{asked_as(device, number)}", port.guid))
    return ways or [((), "", None)]


def collect_own(folder: Path, say: Callable[[str], None], sys: Path = Path("/sys")) -> None:
    """Run the commands that show this node's own ports; run nothing if it has no RDMA device."""
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
        say(f"{' '.join(words)} did not end within {LIMIT_S} s: what it shows is not judged")
        return
    except OSError as error:
        say(f"{program} does not run ({error.strerror}): what it shows is not judged")
        return
    if not done.stdout.strip() and not (keeps_failure and done.stderr.strip()):
        said = next((line.strip() for line in done.stderr.splitlines() if line.strip()), "nothing")
        say(f"{' '.join(words)} printed nothing (exit code {done.returncode}): {one_line(said)}")
        return
    # ibqueryerrors exits with 1 if it finds errors. Only the error output says which part failed.
    text = done.stdout if done.returncode == 0 else f"{done.stdout}{done.stderr}"
    file.write_text(text, encoding="utf-8")


def _netdevs(folder: Path) -> list[str]:
    try:
        return sorted(path.name for path in folder.iterdir())
    except OSError:
        return []
