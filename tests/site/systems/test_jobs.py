"""A system's scheduler settings: each becomes the scheduler's own option, and one without an option is refused."""

import re
from pathlib import Path

import pytest

from railyard.base.errors import InputError
from railyard.base.values import seconds
from railyard.hardware.node import NodeHardware
from railyard.site.systems.job_requests import (
    FILL_UP,
    SLOTS_OF_NODE,
    allocation_rules,
    asks_for_whole_nodes,
    chunk_resources,
    requested_resources,
    requested_words,
)
from railyard.site.systems.jobs import (
    FAMILIES,
    SchedulerSettings,
    chunk_words,
    document,
    export_variables,
    is_slurm,
    options,
    place_options,
    resource_options,
    split_words,
    total_options,
    why_not,
    why_not_option,
    without_export,
)
from railyard.site.systems.load import load_system

ROOT = Path(__file__).parents[3]
ALL = {
    "account": "abc",
    "partition": "hpc",
    "qos": "normal",
    "reservation": "maint",
    "constraint": "edr&haswell",
    "exclude": ["n3", "n7"],
    "gres": "gpu:4",
    "switches": 1,
    "exclusive": True,
}


def settings(**fields: object) -> SchedulerSettings:
    return SchedulerSettings.model_validate(fields)


@pytest.mark.parametrize("scheduler", ["slurm", "squeue", "slurm-nodb"])
def test_slurm_has_an_option_for_each(scheduler: str) -> None:
    assert options(scheduler, settings(**ALL)) == (
        "--account=abc", "--partition=hpc", "--qos=normal", "--reservation=maint", "--constraint=edr&haswell",
        "--exclude=n3,n7", "--gres=gpu:4", "--switches=1", "--exclusive",
    )  # fmt: skip
    assert why_not(scheduler, settings(**ALL, max_pending="2m")) is None


def test_pbs_and_lsf_have_their_own_words() -> None:
    few = settings(account="abc", partition="hpc", exclusive=True)
    assert options("pbs", few) == ("-A abc", "-q hpc", "-l place=scatter:excl")
    assert options("lsf", few) == ("-P abc", "-q hpc", "-x")


def test_nothing_set_is_no_option() -> None:
    for scheduler in (*FAMILIES, "local", "flux"):
        assert options(scheduler, settings()) == ()
        assert why_not(scheduler, settings()) is None


@pytest.mark.parametrize(
    ("scheduler", "fields", "refused"),
    [
        (
            "pbs",
            {"qos": "normal"},
            (
                "qos",
                "a setting for which the scheduler pbs has an option: account, project, partition, reservation, "
                "exclusive",
            ),
        ),
        ("local", {"account": "abc"}, ("account", "a setting for which the scheduler local has an option: none")),
        ("local", {"max_pending": "2m"}, ("max_pending", "no max_pending: jobs of the scheduler local do not wait")),
    ],
)
def test_what_a_scheduler_cannot_be_told(scheduler: str, fields: dict[str, str], refused: tuple[str, str]) -> None:
    assert why_not(scheduler, settings(**fields)) == refused


def test_each_class_of_checks_has_its_time() -> None:
    own = settings(time_limits={"app": "2h"})
    assert (own.time_limit("micro", "10m"), own.time_limit("app", "10m")) == ("10m", "2h")


SYSTEM = """\
system: made
description: made for this test
scheduler: local
launcher: local
nodes: {count: 2}
report_only: made for this test
fabrics:
  eth: {description: one card, kind: tcp, link: eth-10, rails: [{device: eth0, counters: netdev}]}
stacks:
  openmpi: {prefix: /opt/openmpi}
"""


@pytest.mark.parametrize(
    ("jobs", "sentence"),
    [
        (
            "{account: abc}",
            "systems/made.yaml:11: jobs.account: found account of the scheduler local, expected a setting for which "
            "the scheduler local has an option: none; leave it out, or write the option into access",
        ),
        (
            '{constraint: "edr haswell"}',
            'systems/made.yaml:11: jobs.constraint: found "edr haswell", expected one word, as the scheduler\'s own '
            "option takes it",
        ),
        (
            '{gres: "gpu;reboot"}',
            'systems/made.yaml:11: jobs.gres: found "gpu;reboot", expected one word, as the scheduler\'s own '
            'option takes it; a shell would end its command at ";"',
        ),
    ],
)
def test_mistakes_are_sentences_with_their_line(tmp_path: Path, jobs: str, sentence: str) -> None:
    (tmp_path / "systems").mkdir()
    path = tmp_path / "systems/made.yaml"
    path.write_text(f"{SYSTEM}jobs: {jobs}\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_system(path)
    assert str(caught.value) == sentence


def test_slurm_is_told_from_the_others() -> None:
    assert [name for name in (*FAMILIES, "local", "flux") if is_slurm(name)] == ["slurm", "squeue", "slurm-nodb"]


def test_the_table_in_the_documentation_is_the_codes() -> None:
    assert document() in (ROOT / "docs/howto/clusters.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "value"), [("120s", 120), ("10m", 600), ("1h30m", 5400), ("1d", 86400), ("1d2h3m4s", 93784)]
)
def test_a_duration_in_seconds(text: str, value: int) -> None:
    assert seconds(text) == value


@pytest.mark.parametrize("text", ["10", "s", "1m1h", "1.5h", "-1s", "10 m"])
def test_what_is_no_duration_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=f"^'{text}' is not a duration$"):
        seconds(text)


HARDWARE = NodeHardware.model_validate({"cores": 48, "memory": "190G"})


@pytest.mark.parametrize(
    ("scheduler", "access", "gpus", "whole", "words"),
    [
        ("pbs", (), 4, True, ("ncpus=48", "mem=194560mb", "ngpus=4")),
        ("pbs", ("mem=100gb:cputype=rome", "-l storage=x"), None, True, ("ncpus=48",)),
        ("pbs", ("ncpus=96",), None, False, ()),
        ("torque", (), 4, True, ()),
        ("slurm", (), 4, True, ()),
    ],
)
def test_pbs_is_asked_for_what_the_file_says_of_a_node(
    scheduler: str, access: tuple[str, ...], gpus: int | None, whole: bool, words: tuple[str, ...]
) -> None:
    assert chunk_words(scheduler, access, HARDWARE, gpus, whole) == words


@pytest.mark.parametrize(
    ("scheduler", "access", "fields", "words"),
    [
        ("pbs", ("mem=4gb", "-l storage=x"), {}, ("-l place=scatter",)),
        ("pbs", ("-l walltime=1:00:00,place=scatter:shared",), {}, ()),
        ("pbs", (), {"exclusive": True}, ()),
        ("pbs", (), {"totals": True}, ()),
        ("torque", (), {}, ()),
        ("slurm", (), {}, ()),
    ],
)
def test_each_chunk_of_pbs_is_on_a_node_of_its_own(
    scheduler: str, access: tuple[str, ...], fields: dict[str, bool], words: tuple[str, ...]
) -> None:
    """Without the word, OpenPBS puts two chunks of shared nodes on one of them."""
    assert place_options(scheduler, settings(**fields), access) == words


def test_pbs_without_chunks_is_asked_for_what_all_nodes_have_together() -> None:
    assert total_options(2, HARDWARE, 4) == ("-l ncpus=96", "-l mem=389120mb", "-l ngpus=8")
    assert total_options(1, HARDWARE, None) == ("-l ncpus=48", "-l mem=194560mb")


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("-l storage=gdata/z00,jobfs=10gb", None),
        ("-l wd", None),
        ("#PBS -m n", None),
        ("mem=190gb", 'an option that begins with "-": jobs with totals have no chunks'),
        ("-l wd,mem=190gb", "no mem=190gb: with jobs.totals each job asks for the whole of its nodes"),
        ("-lngpus=4", "no ngpus=4: "),
        ("-l select=2:ncpus=48", "no select=2:ncpus=48: "),
        ("-l place=scatter", "no place=scatter: "),
    ],
)
def test_beside_totals_no_option_asks_for_processors_memory_or_nodes(option: str, expected: str | None) -> None:
    found = why_not_option("pbs", option, totals=True)
    assert found is None if expected is None else (found or "").startswith(expected)


@pytest.mark.parametrize(
    ("scheduler", "option", "expected"),
    [
        ("slurm", "-p rome", None),
        ("slurm", "--container-image=docker://nvcr.io#nvidia/x", None),
        ("slurm", '--comment "two words"', None),
        ("slurm", '--comment "two words', "each quotation to end in the same word"),
        ("slurm", "mem=190gb", 'an option that begins with "-": only PBS and Torque take words of a chunk, such as'),
        ("pbs", "mem=190gb:ngpus=4", None),
        ("torque", "bigmem", None),
        ("pbs", "-l storage=gdata/z00,walltime=1:00:00", None),
        ("torque", "-l mem=190gb", None),
        ("pbs", "-lmem=190gb", 'the word "mem=190gb" without "-l": qsub refuses it beside -l select'),
        ("pbs", "-l select=2:ncpus=48", "no request of nodes: each test makes its own"),
        ("pbs", "-l place=scatter,ncpus=48", 'the word "ncpus=48" without "-l"'),
        ("pbs", "-q normal -l mem=190gb", 'the word "mem=190gb" without "-l"'),
        ("pbs", "-l 'mem=190gb'", 'the word "mem=190gb" without "-l"'),
        ("pbs", "-q normal -l walltime=1:00:00", None),
        ("pbs", "mem = 190gb", "an option, or words of a chunk with colons and no blanks: mem=190gb"),
    ],
)
def test_an_option_is_refused_only_if_the_script_could_not_have_it(
    scheduler: str, option: str, expected: str | None
) -> None:
    found = why_not_option(scheduler, option)
    assert found is None if expected is None else (found or "").startswith(expected)


@pytest.mark.parametrize("option", ["--export=NONE", "--export NONE", "--export=PATH,HOME"])
def test_steps_get_the_jobs_variables_where_the_site_exports_few(option: str) -> None:
    assert export_variables("slurm", ["-p rome", option]) == {"SLURM_EXPORT_ENV": "ALL"}
    assert export_variables("slurm", ["-p rome", "--exclusive"]) == export_variables("pbs", [option]) == {}
    assert without_export(split_words([option, "-p rome"])) == ["-p", "rome"]


def test_a_resource_counts_the_processors_of_a_job() -> None:
    made = settings(resources=["-pe mpi {num_slots}"])
    assert resource_options(made, 2, 80, 2) == ("-pe mpi 2",)
    assert resource_options(settings(resources=["-pe mpi {num_cores}"]), 2, 80, 2) == ("-pe mpi 80",)
    each = settings(resources=["-pe mpi-{num_slots_per_node} {num_slots}", "-l nodes={num_nodes}"])
    assert resource_options(each, 8, 80, 2) == ("-pe mpi-4 8", "-l nodes=2")
    assert why_not("sge", made) is None and why_not("pbs", settings(project="abc")) is None
    assert (why_not("torque", settings(project="abc")) or ("",))[0] == "project"
    assert (why_not("pbs", settings(use_nodes_option=True)) or ("",))[0] == "use_nodes_option"
    assert (why_not("local", made) or ("",))[0] == "resources"


@pytest.mark.parametrize(
    ("more", "is_taken"),
    [("", False), ('jobs: {resources: ["-pe mpi {num_slots}"]}\n', True), ("access: [-pe mpi 80]\n", True),
     ("access: [-l mem=4G]\n", False)],
)  # fmt: skip
def test_grid_engine_without_a_parallel_environment_is_refused(tmp_path: Path, more: str, is_taken: bool) -> None:
    (tmp_path / "systems").mkdir()
    path = tmp_path / "systems/made.yaml"
    path.write_text(SYSTEM.replace("scheduler: local", "scheduler: sge") + more, encoding="utf-8")
    if is_taken:
        assert load_system(path).scheduler == "sge"
        return
    with pytest.raises(InputError) as raised:
        load_system(path)
    assert str(raised.value) == (
        "systems/made.yaml:3: scheduler: found sge and no parallel environment: Grid Engine would give each job one "
        'slot on one node, expected its option -pe; add jobs: {resources: ["-pe NAME {num_slots}"]}'
    )


def test_all_cores_of_a_jobs_nodes_are_those_of_the_hardware(tmp_path: Path) -> None:
    (tmp_path / "systems").mkdir()
    path = tmp_path / "systems/made.yaml"
    text = SYSTEM.replace("scheduler: local", "scheduler: sge") + 'jobs: {resources: ["-pe mpi {num_cores}"]}\n'
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as raised:
        load_system(path)
    assert str(raised.value).endswith(
        "jobs.resources: found {num_cores} and no nodes.hardware, expected nodes.hardware, which says how many cores a "
        "node has"
    )
    path.write_text(
        re.sub(r"nodes: .*", "nodes: {count: 4, hardware: {cores: 40, memory: 64G}}", text), encoding="utf-8"
    )
    assert load_system(path).batch_options(2) == ("-pe mpi 80",)


TOTALS = """\
system: made
description: a made system
scheduler: pbs
launcher: mpirun
nodes: {count: 4, hardware: {cores: 48, memory: 190G}}
jobs: {totals: true}
report_only: nothing was measured
fabrics:
  hsn: {description: x, kind: tcp, link: eth-10, rails: [{device: hsn0, counters: netdev}]}
stacks:
  openmpi: {prefix: /opt/openmpi, benchmarks: {osu: /opt/osu}}
"""
NOT_TOTALS = [
    (
        ("scheduler: pbs", "scheduler: slurm"),
        "jobs.totals: found totals of the scheduler slurm, expected it only with PBS: the scheduler slurm is not asked "
        "in chunks; leave it out, or write the option into access",
    ),
    (
        ("totals: true", "totals: true, exclusive: true"),
        "jobs.exclusive: found exclusive of the scheduler pbs, expected totals alone: qsub refuses -l place beside "
        "them, and a job has all cores of its nodes; leave it out, or write the option into access",
    ),
    (
        (", hardware: {cores: 48, memory: 190G}", ""),
        "jobs.totals: found totals and no nodes.hardware, expected nodes.hardware: a job of two nodes asks for twice "
        "the cores and the memory of one",
    ),
    (
        ("count: 4", "count: 4, exclusive: false"),
        "jobs.totals: found totals and nodes: {exclusive: false}, expected whole nodes: PBS puts less than these "
        "together on one node; leave out one of them",
    ),
    (
        ("launcher: mpirun", "launcher: ssh"),
        "stacks.openmpi: found totals, and the launcher ssh: only mpirun, mpiexec or site take them, expected a "
        "launcher that takes the ranks of each node as words: a job has a slot for each core; give it launcher: site, "
        "with {ranks_per_node} in site_launcher, or list it under disabled",
    ),
    (
        ("launcher: mpirun", "launcher: site\nsite_launcher: [run, '{ranks}']"),
        "stacks.openmpi: found totals, and the launcher site: site_launcher lacks {ranks_per_node}, expected a "
        "launcher that takes the ranks of each node as words: a job has a slot for each core; give it launcher: site, "
        "with {ranks_per_node} in site_launcher, or list it under disabled",
    ),
    (
        ("openmpi: {prefix", "spectrummpi: {prefix"),
        "stacks.spectrummpi: found totals, and the launcher mpirun: no words are known that give each node of a job so "
        "many ranks, expected a launcher that takes the ranks of each node as words: a job has a slot for each core; "
        "give it launcher: site, with {ranks_per_node} in site_launcher, or list it under disabled",
    ),
    (
        ("stacks:", "stacks:\n  tcp: {prefix: /usr, benchmarks: {iperf3: /usr/bin/iperf3}}"),
        "stacks.tcp: found totals, and the launcher mpirun: a client and a server are started by an MPI that the file "
        "does not name, expected a launcher that takes the ranks of each node as words: a job has a slot for each "
        "core; give it launcher: site, with {ranks_per_node} in site_launcher, or list it under disabled",
    ),
]


@pytest.mark.parametrize(("change", "sentence"), NOT_TOTALS)
def test_totals_need_whole_nodes_of_known_size_and_a_launcher_that_spreads_its_ranks(
    tmp_path: Path, change: tuple[str, str], sentence: str
) -> None:
    (tmp_path / "systems").mkdir()
    path = tmp_path / "systems/made.yaml"
    assert change[0] in TOTALS
    path.write_text(TOTALS.replace(*change), encoding="utf-8")
    with pytest.raises(InputError) as raised:
        load_system(path)
    assert re.sub(r"^systems/made\.yaml:\d+: ", "", str(raised.value)) == sentence


def test_a_job_with_totals_asks_for_all_of_its_nodes_and_a_stack_that_is_off_needs_no_launcher(tmp_path: Path) -> None:
    (tmp_path / "systems").mkdir()
    path = tmp_path / "systems/made.yaml"
    more = "  tcp: {prefix: /usr, benchmarks: {iperf3: /usr/bin/iperf3}}\ndisabled: [{stack: tcp, reason: no words}]\n"
    path.write_text(TOTALS + more, encoding="utf-8")
    system = load_system(path)
    assert system.job_options == ()
    assert system.batch_options(4) == ("-l ncpus=192", "-l mem=778240mb")
    path.write_text(TOTALS + more.replace("stack: tcp", "stack: tcp, rails: 1"), encoding="utf-8")
    with pytest.raises(InputError, match=r"stacks\.tcp: found totals"):
        load_system(path)


def test_what_access_asks_for_is_found_in_each_of_its_forms(tmp_path: Path) -> None:
    (tmp_path / "systems").mkdir()
    path = tmp_path / "systems/made.yaml"
    access = 'access: [-p rome, "--constraint edr", "--gres=gpu:4", "-xn1", "--exclusive --mem=0"]\n'
    path.write_text(SYSTEM.replace("scheduler: local", "scheduler: slurm") + access, encoding="utf-8")
    system = load_system(path)
    found = {name: requested_words(system, name) for name in ("partition", "constraint", "gres", "exclude")}
    assert found == {"partition": ("rome",), "constraint": ("edr",), "gres": ("gpu:4",), "exclude": ("n1",)}
    assert asks_for_whole_nodes(system)
    assert system.job_words[:2] == ("-p", "rome")


LAUNCHERS = [
    (
        "launcher: site\n",
        'systems/made.yaml:4: launcher: found "site", expected also its words; add site_launcher: [PROGRAM, -n, '
        "'{ranks}']",
    ),
    (
        "launcher: srun\nsite_launcher: [run, '{nodes}']\n",
        'systems/made.yaml:5: site_launcher: found "run {nodes}", expected the number of ranks among its words: '
        "{ranks}",
    ),
    (
        "launcher: srun\nsite_launcher: [run, '{rank}']\n",
        'systems/made.yaml:5: site_launcher[1]: found "{rank}", expected no blanks but {ranks}, {ranks_per_node}, '
        '{nodes} and {cores}; did you mean "ranks"?',
    ),
    (
        "launcher: srun\naccess: [mem=4gb]\n",
        'systems/made.yaml:5: access[0]: found "mem=4gb", expected an option that begins with "-": only PBS and Torque '
        "take words of a chunk, such as mem=190gb",
    ),
]


@pytest.mark.parametrize(("lines", "sentence"), LAUNCHERS)
def test_a_launcher_of_the_site_needs_its_words(tmp_path: Path, lines: str, sentence: str) -> None:
    (tmp_path / "systems").mkdir()
    path = tmp_path / "systems/made.yaml"
    path.write_text(
        SYSTEM.replace("scheduler: local\nlauncher: local\n", f"scheduler: slurm\n{lines}"), encoding="utf-8"
    )
    with pytest.raises(InputError) as caught:
        load_system(path)
    assert str(caught.value) == sentence


def test_a_stacks_launcher_wins_over_its_fabrics_and_a_replay_has_neither(tmp_path: Path) -> None:
    (tmp_path / "systems").mkdir()
    path = tmp_path / "systems/made.yaml"
    text = SYSTEM.replace("scheduler: local\nlauncher: local", "scheduler: slurm\nlauncher: srun")
    text = text.replace("kind: tcp,", "kind: tcp, launcher: mpirun, prepare_cmds: [umask 77], env: {A: '{home}/x'},")
    text += (
        "  mpich: {prefix: /opt/mpich, launcher: mpiexec, unuse: [/old], use: [/new], prepare_cmds: [ulimit -l 9]}\n"
    )
    path.write_text(text, encoding="utf-8")
    system = load_system(path)
    assert [system.launcher_of("eth", stack) for stack in ("openmpi", "mpich")] == ["mpirun", "mpiexec"]
    assert system.script_lines("eth", "mpich", Path("/site")) == [
        "umask 77", "export A=/site/x", "module unuse /old", "module use /new", "ulimit -l 9",
    ]  # fmt: skip
    replayed = system.as_replay()
    assert replayed.launcher_of("eth", "mpich") == "replay"
    assert replayed.script_lines("eth", "mpich", Path("/site")) == []
    fails = path.read_text(encoding="utf-8").replace("{home}/x", "{prefix}/x")
    path.write_text(fails, encoding="utf-8")
    with pytest.raises(InputError, match=r"fabrics\.eth\.env\.A: found .* expected no \{prefix\}: a fabric has none"):
        load_system(path)


@pytest.mark.parametrize(
    ("scheduler", "access", "asked", "resources", "whole"),
    [
        (
            "pbs",
            '"-q prod", "-l filesystems=home:work,walltime=1:00:00", "-l wd", "ngpus=4:mem=10gb"',
            {"partition": ("prod",)},
            (("filesystems", "home:work"), ("walltime", "1:00:00"), ("wd", "")),
            False,
        ),
        ("pbs", '"-l place=scatter:excl"', {}, (("place", "scatter:excl"),), True),
        ("pbs", '"-p 10", "-lplace=scatter"', {}, (("place", "scatter"),), False),
        (
            "flux-batch",
            '"--queue=pbatch", "--requires=ib", "-x"',
            {"partition": ("pbatch",), "constraint": ("ib",)},
            (),
            True,
        ),
        (
            "sge",
            '"-pe mpi 2", "-q all.q", "-P proj", "-l mem=4G,excl=true"',
            {"partition": ("all.q",), "project": ("proj",)},
            (("mem", "4G"), ("excl", "true")),
            True,
        ),
        ("sge", '"-pe mpi 2", "-l mem=4G"', {}, (("mem", "4G"),), False),
    ],
)
def test_what_access_asks_another_scheduler_for_is_found_too(
    tmp_path: Path,
    scheduler: str,
    access: str,
    asked: dict[str, tuple[str, ...]],
    resources: tuple[tuple[str, str], ...],
    whole: bool,
) -> None:
    (tmp_path / "systems").mkdir()
    path = tmp_path / "systems/made.yaml"
    own = {"flux-batch": "flux-run"}.get(scheduler, "mpirun")
    text = SYSTEM.replace("scheduler: local", f"scheduler: {scheduler}").replace("launcher: local", f"launcher: {own}")
    path.write_text(f"{text}access: [{access}]\n", encoding="utf-8")
    system = load_system(path)
    found = {name: requested_words(system, name) for name in ("partition", "constraint", "project", "gres")}
    assert {name: words for name, words in found.items() if words} == asked
    assert (requested_resources(system), asks_for_whole_nodes(system)) == (resources, whole)


def test_the_resources_of_a_chunk_of_pbs_are_those_of_the_file_and_of_its_hardware(tmp_path: Path) -> None:
    (tmp_path / "systems").mkdir()
    path = tmp_path / "systems/made.yaml"
    text = SYSTEM.replace("scheduler: local", "scheduler: pbs").replace("launcher: local", "launcher: mpirun")
    path.write_text(f'{text}access: ["ngpus=4:gputype=a100"]\n', encoding="utf-8")
    assert chunk_resources(load_system(path)) == (("ngpus", "4"), ("gputype", "a100"))


def test_an_environment_of_grid_engine_has_the_rule_that_its_words_show(tmp_path: Path) -> None:
    (tmp_path / "systems").mkdir()
    path = tmp_path / "systems/made.yaml"
    text = SYSTEM.replace("scheduler: local", "scheduler: sge").replace("launcher: local", "launcher: mpirun")
    for asked, rule in (
        ("-pe mpi-{num_slots_per_node} {num_slots}", SLOTS_OF_NODE),
        ("-pe one {num_nodes}", "1"),
        ("-pe mpi {num_slots}", FILL_UP),
    ):
        path.write_text(f'{text}jobs: {{resources: ["{asked}"]}}\n', encoding="utf-8")
        assert allocation_rules(load_system(path)) == {asked.split()[1]: rule}
