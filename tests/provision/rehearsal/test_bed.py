"""The bed of a rehearsal comes up with what a site's file declares, its counters move, and it leaves nothing."""

import fcntl
from collections.abc import Iterator
from pathlib import Path

import pytest

from railyard.base.errors import SetupError
from railyard.provision.rehearsal import node_scripts, prepare
from railyard.provision.rehearsal.form import Fault, Rehearsal
from railyard.provision.rehearsal.nodes import choose
from railyard.provision.rehearsal.sysfs import FIRST
from railyard.provision.testbed import lock, scheduler, slurm
from railyard.provision.testbed.boot import outermost_processes
from railyard.provision.testbed.cluster import Testbed
from railyard.provision.testbed.scripts import REHEARSAL
from railyard.site.systems.load import load_system
from railyard.site.systems.model import System
from tests.made.rehearsal_site import site
from tests.patience import wait_for

SITES = Path(__file__).parents[2] / "sites/rehearsed"
PLENTY = 20_000
PORTS = "/sys/class/infiniband/mlx5_{}/ports/1"
JOB = ("-t1", "-p", "compute", "-A", "abc", "-C", "ndr&hbm", "--gres=gpu:h100:4", "--reservation=tests", "--exclusive")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def system(home: Path) -> System:
    return site(home)


@pytest.fixture(scope="module")
def rehearsal(home: Path, system: System) -> Rehearsal:
    faults = (
        Fault("lanes", "rail=n9:mlx5_0,lanes=1", "n9", "mlx5_0:1", lanes=1),
        Fault("unreadable", "rail=n10:mlx5_1,counters=unreadable", "n10", "mlx5_1:1"),
    )
    return Rehearsal(system.system, str(home), str(home), choose(system, PLENTY).nodes, faults)


@pytest.fixture(scope="module")
def standing(home: Path, system: System, rehearsal: Rehearsal) -> Iterator[Testbed]:
    """Return the nodes of a rehearsal that is up; the machine may be measured on meanwhile."""
    sentence = prepare.find_refusal()
    if sentence is not None:
        pytest.skip(sentence)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(lock.HELD_VARIABLE, str(lock.lock_file()))
        prepare.bring_up(rehearsal, system, keep=False)
        found = Testbed.find(home, REHEARSAL)
        assert found is not None
        yield found
        assert prepare.end_nodes(home)
    assert outermost_processes(found.folder) == []
    assert not found.folder.exists()
    assert prepare.end_nodes(home) is False


def run(standing: Testbed, *words: str) -> str:
    """Return what a command on the first node prints, as a job's script calls it there."""
    variables = prepare.client_variables(standing.folder.parent.parent)
    env = {**variables, "PATH": variables["PATH"].replace("$PATH", "/usr/sbin:/usr/bin:/sbin:/bin")}
    done = standing.exec("n1", words, env=env, cwd=Path("/"), timeout_s=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_slurm_shows_what_the_file_declares(standing: Testbed) -> None:
    shown = run(standing, "sinfo", "-h", "-N", "-o", "%N %c %z %m %f %G %T %P").splitlines()
    assert [line.split()[0] for line in shown] == [f"n{n}" for n in range(1, 17)]
    assert {line.split(maxsplit=1)[1] for line in shown} == {
        "112 2:56:1 512000 ndr,hbm gpu:h100:4 idle compute*",
    }


def test_a_job_on_two_nodes_sees_their_own_devices_and_moves_counters(standing: Testbed) -> None:
    counter = PORTS.format(0) + "/counters/port_xmit_data"
    script = (
        f'read -r node </proc/sys/kernel/hostname; read -r rate <{PORTS.format(0)}/rate; read -r before <{counter}; '
        f'echo $((before + SLURM_PROCID + 5)) >{counter}; read -r after <{counter}; '
        f'read -r dark <{PORTS.format(1)}/counters/port_xmit_data || dark=unreadable; '
        f'echo "$SLURM_PROCID $node $rate $((after - before)) $dark"'
    )  # fmt: skip
    printed = run(standing, "srun", *JOB, "-w", "n9,n10", "sh", "-c", script)
    assert sorted(printed.splitlines()) == [
        f"0 n9 100 Gb/sec (1X NDR) 5 {FIRST}",
        "1 n10 400 Gb/sec (4X NDR) 6 unreadable",
    ]
    # They are each node's own, and stay.
    read = ("srun", *JOB, "-w", "n9,n10,n11", "cat", counter)
    assert sorted(run(standing, *read).split()) == sorted([str(FIRST + 5), str(FIRST + 6), str(FIRST)])


def test_a_process_shows_the_processors_that_it_asked_for(standing: Testbed) -> None:
    first = run(standing, "srun", *JOB, "-w", "n2", "sh", "-c", "exec grep Cpus_allowed_list /proc/self/status")
    assert first.split() == ["Cpus_allowed_list:", "0-111"]
    script = "taskset -pc 56-111 $$ && taskset -pc 7 $$ && exec grep Cpus_allowed_list /proc/self/status"
    assert run(standing, "srun", *JOB, "-w", "n2", "sh", "-c", script).split() == ["Cpus_allowed_list:", "7"]
    assert run(standing, "taskset", "-c", "3-5", "grep", "Cpus_allowed_list", "/proc/self/status").split()[1] == "3-5"
    told = "export RAILYARD_REHEARSAL=/run/tmp/r; taskset -pc 8-9 $$ && cat /run/tmp/r/affinity/n1.$$"
    assert run(standing, "sh", "-c", told) == "8-9\n"
    beyond = standing.exec("n1", ["taskset", "-c", "112", "true"], timeout_s=60)
    assert (beyond.returncode, beyond.stderr.endswith("affinity: Invalid argument\n")) == (1, True)
    assert run(standing, "cat", "/sys/devices/system/node/node1/cpulist") == "56-111\n"


def test_a_shell_shows_the_time_of_processors_that_its_child_would_have_used(standing: Testbed) -> None:
    script = f"""\
    before=$(read -r stat </proc/$$/stat; set -- ${{stat##*) }}; echo $((${{14}} + ${{15}})))
    {standing.folder}/spend $$ 123456
    after=$(read -r stat </proc/$$/stat; set -- ${{stat##*) }}; echo $((${{14}} + ${{15}})))
    echo $((after - before >= 123456)) $((after - before < 123556))
    """
    assert run(standing, "sh", "-c", script) == "1 1\n"


def test_the_devices_can_be_laid_without_an_overlay(standing: Testbed) -> None:
    """In a mount namespace of its own, so that the node stays as it is."""
    script = f"""\
    umount /sys/devices/system/cpu /sys/devices/system/node /sys $(command -v taskset) /run/sys/taskset
    rm -r /run/sys/upper
    {standing.folder}/lay n4 mounts
    cat {PORTS.format(1)}/rate /sys/devices/system/cpu/online
    ls /sys/class/net /sys/kernel/mm /sys/class/infiniband
    """
    done = standing.exec("n4", ["unshare", "--mount", "sh", "-ec", script], timeout_s=60)
    assert (done.stderr, done.returncode) == ("", 0)
    shown = done.stdout.split()
    assert shown[:5] == ["400", "Gb/sec", "(4X", "NDR)", "0-111"]
    assert {"eth0", "ib0", "lo", "transparent_hugepage", "mlx5_0"} <= set(shown)


def test_another_rehearsal_of_the_same_folder_waits(standing: Testbed, rehearsal: Rehearsal, system: System) -> None:
    with pytest.raises(SetupError) as refused:
        prepare.bring_up(rehearsal, system, keep=False)
    assert str(refused.value) == "rehearsal: another one of this site folder is up: wait until it has ended"
    assert standing.is_up()


def test_a_node_dies(standing: Testbed) -> None:
    """The last one, of which Slurm hears nothing more."""
    before = set(slurm.SLURM.daemons_in(standing.state()).values())
    assert before >= {"slurmd", "slurmctld"}
    running = list(slurm.SLURM.daemons_in(standing.state()).values()).count("slurmd")
    standing.exec("n16", [str(standing.folder / node_scripts.DIE)], timeout_s=30)
    wait_for(
        lambda: list(slurm.SLURM.daemons_in(standing.state()).values()).count("slurmd") == running - 1,
        "the end of its slurmd",
    )
    assert standing.is_up()  # what holds the node is not of it


def test_it_waits_for_no_measurement(
    rehearsal: Rehearsal, system: System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "lock"
    monkeypatch.delenv(lock.HELD_VARIABLE, raising=False)
    monkeypatch.setattr(prepare, "find_refusal", lambda scheduler: None)
    monkeypatch.setattr(lock, "lock_file", lambda: file)
    with file.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(SetupError) as refused:
            prepare.bring_up(rehearsal, system, keep=False)
    assert str(refused.value) == (
        "rehearsal: another process is measuring on this machine, and a rehearsal would disturb it: wait until it has "
        "ended"
    )


def test_a_missing_program_is_named(
    rehearsal: Rehearsal, system: System, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(scheduler, "SEARCH_PATH", str(tmp_path))
    for program in slurm.SLURM.programs[1:]:
        (tmp_path / program).write_text("#!/bin/sh\n", encoding="ascii")
        (tmp_path / program).chmod(0o755)
    with pytest.raises(SetupError) as refused:
        prepare.bring_up(rehearsal, system, keep=False)
    assert str(refused.value) == (
        "rehearsal: munged is not installed: apt-get install munge slurm-wlm (Debian's names); nothing was run; for "
        "the job scripts alone type: railyard run --system ndr --dry-run"
    )


def test_without_the_schedulers_programs_it_is_said_what_to_install_and_what_was_not_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(scheduler, "SEARCH_PATH", str(tmp_path))
    for name, programs in (("pbs", "pbs_server, pbs_sched"), ("flux", "flux is"), ("sge", "sge_qmaster, sge_execd")):
        system = load_system(SITES / f"systems/{name}.yaml")
        asked = Rehearsal(name, str(tmp_path), str(tmp_path / "plan"), ("n1", "n9"))
        with pytest.raises(SetupError) as refused:
            prepare.bring_up(asked, system, keep=False)
        said = str(refused.value)
        assert said.startswith(f"rehearsal: {programs}") and " not installed: " in said
        assert said.endswith(f"nothing was run; for the job scripts alone type: railyard run --system {name} --dry-run")
