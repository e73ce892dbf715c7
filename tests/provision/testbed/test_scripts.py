"""The shell texts of a testbed, without a running testbed."""

import subprocess
from pathlib import Path

from railyard.provision.testbed.boot import outer_options
from railyard.provision.testbed.scripts import UP_LINE, boot_script, hosts_file, switch_port
from railyard.provision.testbed.spec import DEFAULT_SPEC, TestbedSpec
from tests.patience import PATIENCE_S


def test_every_port_of_the_switch_has_a_name_of_its_own() -> None:
    ports = [
        switch_port(DEFAULT_SPEC, node, net.device) for node in DEFAULT_SPEC.nodes for net in DEFAULT_SPEC.networks
    ]
    assert len(set(ports)) == 12
    assert switch_port(DEFAULT_SPEC, "vn2", "hsn1") == "n2p2"


def test_the_hosts_file_names_every_address(small: TestbedSpec) -> None:
    assert hosts_file(small) == [
        "127.0.0.1 localhost",
        "10.98.0.1 alpha alpha-eth0",
        "10.98.0.2 beta beta-eth0",
        "10.98.1.1 alpha-hsn0",
        "10.98.1.2 beta-hsn0",
    ]


def test_a_testbed_that_nobody_waits_for_ends(small: TestbedSpec, namespaces: None, tmp_path: Path) -> None:
    # The process that started it was killed just before: the end of the standard input shows it.
    script = tmp_path / "boot.sh"
    script.write_text(boot_script(small))
    ended = subprocess.run(
        ["unshare", *outer_options(), "sh", str(script)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S,
    )  # fmt: skip
    assert ended.stdout.startswith(UP_LINE)
    assert (ended.returncode, ended.stderr) == (1, "")


def test_a_step_that_fails_ends_it_with_the_tools_own_words(
    small: TestbedSpec, namespaces: None, tmp_path: Path
) -> None:
    script = tmp_path / "boot.sh"
    script.write_text(boot_script(small).replace("link set br1 up", "link set br9 up"))
    ended = subprocess.run(
        ["unshare", *outer_options(), "sh", str(script)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S,
        env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert ended.stdout == ""
    assert 'Cannot find device "br9"' in ended.stderr
    assert ended.returncode != 0
