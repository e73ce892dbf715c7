"""What a testbed needs on this machine, and the sentence that says what is missing."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from railyard.base.errors import SetupError

#: Program -> Debian package. All but nft are needed to come up; nft is only needed for ``degrade … lossy``.
PACKAGES = {
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "setpriv": "util-linux",
    "mount": "mount",
    "hostname": "hostname",
    "ip": "iproute2",
    "tc": "iproute2",
    "nft": "nftables",
}
# Debian keeps ip, tc and nft in /usr/sbin, which is not on an ordinary user's path.
SEARCH_PATH = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin", "/usr/bin", "/bin"])
_CAP_NET_ADMIN, _CAP_SYS_ADMIN = 12, 21  # linux/capability.h
# One example of each thing that the kernel must be able to do.
_PROBE = """\
ip link add br0 type bridge
ip link add one type veth peer name two
tc qdisc add dev one root handle 1: htb
mount -t tmpfs tmpfs /run
mount -t sysfs sysfs /sys
"""
# Setting -> the value that forbids namespaces to an ordinary user, and the value that allows them.
_FORBIDDING = {
    "kernel/unprivileged_userns_clone": ("0", "1"),
    "user/max_user_namespaces": ("0", "10000"),
    "user/max_net_namespaces": ("0", "10000"),
    "kernel/apparmor_restrict_unprivileged_userns": ("1", "0"),
}


def require_programs(*names: str, packages: Mapping[str, str] = PACKAGES) -> None:
    """Raise SetupError if programs are missing; it names them and their packages."""
    missing = [name for name in names if shutil.which(name, path=SEARCH_PATH) is None]
    if missing:
        wanted = sorted({packages[name] for name in missing})
        raise SetupError(
            f"testbed: {' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed: "
            f"apt-get install {' '.join(wanted)} (Debian's names)"
        )


def needs_user_namespace() -> bool:
    """Return whether this process lacks the capabilities to make network namespaces directly."""
    for line in Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines():
        if line.startswith("CapEff:"):
            effective = int(line.split()[1], 16)
            return not all(effective >> bit & 1 for bit in (_CAP_NET_ADMIN, _CAP_SYS_ADMIN))
    return os.geteuid() != 0


#: If the user may do so, processes of a testbed get priority over others: a rail carries bytes only while this host's
#: processors work on it. With a busy loop on each of two cores, NetPIPE's stream over two rails of 100 Mbit/s reached
#: 85 to 95 % of its limit without priority, and 97 to 106 % with it. A kernel that groups processes by session
#: (sched(7), "The autogroup feature") weighs the group first, and a job is a session of its own. So the group's
#: niceness is set too.
_NICENESS = -15
_FIRST = f'{{ echo {_NICENESS} >/proc/self/autogroup; }} 2>/dev/null; exec nice -n {_NICENESS} "$@"'


def front() -> list[str]:
    """Return the words before a testbed's command that give it priority; none if the user may not do so."""
    try:
        own = os.getpriority(os.PRIO_PROCESS, 0)
        os.setpriority(os.PRIO_PROCESS, 0, own - 1)
        os.setpriority(os.PRIO_PROCESS, 0, own)
    except OSError:
        return []
    return ["sh", "-c", _FIRST, "sh"] if own == 0 else []


def outer_options() -> list[str]:
    """Return the options of ``unshare`` for the namespaces around a whole testbed."""
    user = ["--user", "--map-root-user"] if needs_user_namespace() else []
    return [*user, "--pid", "--mount", "--net", "--fork", "--kill-child", "--mount-proc"]


def namespaces_refused() -> str | None:
    """Return None if a testbed can come up here, else the sentence that says why not (it tries; about 0.02 s)."""
    try:
        require_programs(*(name for name in PACKAGES if name != "nft"))
    except SetupError as error:
        return str(error)
    tried = subprocess.run(
        ["unshare", *outer_options(), "sh", "-ec", _PROBE],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "PATH": SEARCH_PATH, "LC_ALL": "C"},
    )
    return None if tried.returncode == 0 else str(refusal(tried.stdout.decode(errors="replace")))


def refusal(complaint: str, sysctl: Path = Path("/proc/sys")) -> SetupError:
    """Return the error for a testbed that did not start, from what ``unshare``, ``mount`` or ``ip`` printed."""
    lines = [line.strip() for line in complaint.splitlines() if line.strip()] or ["no reason was given"]
    said = lines[0]
    lowered = complaint.lower()
    if "not permitted" in lowered or "permission denied" in lowered or "no space left" in lowered:
        return SetupError(f"testbed: this machine does not permit namespaces ({said}): {_remedy(sysctl)}")
    if "unknown device type" in lowered or "not supported" in lowered or "qdisc kind is unknown" in lowered:
        return SetupError(
            f"testbed: the kernel lacks a part that the virtual cluster needs ({said}): "
            "veth, bridge and sch_htb must be built in or loadable"
        )
    return SetupError(f"testbed: the virtual cluster did not come up ({said})")


def _remedy(sysctl: Path) -> str:
    for name, (forbidding, allowing) in _FORBIDDING.items():
        try:
            value = (sysctl / name).read_text(encoding="ascii").strip()
        except OSError:  # this kernel does not have this setting
            continue
        if value == forbidding:
            return f"set {name.replace('/', '.')} to {allowing} with sysctl, or run as root"
    return "run as root, or in a container that has the capabilities SYS_ADMIN and NET_ADMIN"
