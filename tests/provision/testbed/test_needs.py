"""One sentence says what this machine lacks, with the package or the setting."""

import os
import stat
from pathlib import Path

import pytest

from railyard.base.errors import SetupError
from railyard.provision.testbed import boot


def test_missing_programs_come_with_their_packages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    present = tmp_path / "ip"
    present.touch()
    present.chmod(present.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(boot, "SEARCH_PATH", str(tmp_path))
    with pytest.raises(SetupError) as caught:
        boot.require_programs("ip", "nft", "tc")
    assert str(caught.value) == (
        "testbed: nft and tc are not installed: apt-get install iproute2 nftables (Debian's names)"
    )
    with pytest.raises(SetupError) as caught:
        boot.require_programs("unshare")
    assert str(caught.value) == "testbed: unshare is not installed: apt-get install util-linux (Debian's names)"
    assert boot.namespaces_refused() == (
        "testbed: unshare and nsenter and setpriv and mount and hostname and tc are not installed: "
        "apt-get install hostname iproute2 mount util-linux (Debian's names)"
    )


@pytest.mark.parametrize(
    ("setting", "value", "remedy"),
    [
        (
            "kernel/unprivileged_userns_clone",
            "0",
            "set kernel.unprivileged_userns_clone to 1 with sysctl, or run as root",
        ),
        ("user/max_user_namespaces", "0", "set user.max_user_namespaces to 10000 with sysctl, or run as root"),
        (
            "kernel/apparmor_restrict_unprivileged_userns",
            "1",
            "set kernel.apparmor_restrict_unprivileged_userns to 0 with sysctl, or run as root",
        ),
        (
            "user/max_user_namespaces",
            "4711",
            "run as root, or in a container that has the capabilities SYS_ADMIN and NET_ADMIN",
        ),
    ],
)
def test_a_refused_namespace_names_the_setting(tmp_path: Path, setting: str, value: str, remedy: str) -> None:
    (tmp_path / setting).parent.mkdir()
    (tmp_path / setting).write_text(value + "\n")
    refused = boot.refusal("unshare: unshare failed: Operation not permitted\n", tmp_path)
    assert str(refused) == (
        "testbed: this machine does not permit namespaces (unshare: unshare failed: Operation not permitted): " + remedy
    )


def test_a_kernel_without_veth_is_named_as_such() -> None:
    assert str(boot.refusal("Error: Unknown device type.\nCommand failed -:1\n")) == (
        "testbed: the kernel lacks a part that the virtual cluster needs (Error: Unknown device type.): "
        "veth, bridge and sch_htb must be built in or loadable"
    )


def test_no_reason_is_said_too() -> None:
    assert str(boot.refusal("\n")) == "testbed: the virtual cluster did not come up (no reason was given)"


def test_root_without_capabilities_takes_a_user_namespace() -> None:
    # The answer depends on the capabilities, not on the user id.
    status = Path("/proc/self/status").read_text()
    effective = int(next(line for line in status.splitlines() if line.startswith("CapEff")).split()[1], 16)
    assert boot.needs_user_namespace() is not bool(effective >> 12 & 1 and effective >> 21 & 1)
    assert ("--user" in boot.outer_options()) is boot.needs_user_namespace()
    assert os.pathsep + "/usr/sbin" in boot.SEARCH_PATH


def test_what_runs_on_a_testbed_goes_first_where_the_user_may(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0]
    monkeypatch.setattr(os, "getpriority", lambda which, who: now[0])
    monkeypatch.setattr(os, "setpriority", lambda which, who, value: now.append(value))
    words = boot.front()
    assert words == ["sh", "-c", words[2], "sh"]
    assert words[2] == '{ echo -15 >/proc/self/autogroup; } 2>/dev/null; exec nice -n -15 "$@"'
    assert now == [0, -1, 0]  # tried, and undone


def test_nothing_goes_first_where_the_user_may_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(which: int, who: int, value: int) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "getpriority", lambda which, who: 0)
    monkeypatch.setattr(os, "setpriority", refuse)
    assert boot.front() == []


def test_who_was_put_behind_others_stays_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getpriority", lambda which, who: 19)
    monkeypatch.setattr(os, "setpriority", lambda which, who, value: None)
    assert boot.front() == []
