"""PBS, Flux and Grid Engine are told what the system's file says: hardware, queues, resources, environments."""

import json
from pathlib import Path

import pytest

from railyard.provision.rehearsal.node_scripts import files_of, flux_layout, pbs_layout, sge_layout
from railyard.provision.testbed.pbs import PbsResource
from railyard.provision.testbed.sge import SgeResource
from railyard.provision.testbed.spec import rehearsal_spec
from railyard.site.systems.load import load_system
from railyard.site.systems.model import System

SITES = Path(__file__).parents[2] / "sites"
NODES = ("n1", "n9")


def system_of(name: str) -> System:
    return load_system(next(SITES.glob(f"*/systems/{name}.yaml")))


def changed_system(name: str, tmp_path: Path, *changes: tuple[str, str]) -> System:
    """Return a system from a copy of its file, in which each change replaces a text."""
    for path in (SITES / "rehearsed/systems").glob("*.yaml"):
        (tmp_path / path.name).write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    file = tmp_path / f"{name}.yaml"
    text = next(SITES.glob(f"*/systems/{name}.yaml")).read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    file.write_text(text, encoding="utf-8")
    return load_system(file)


def file_texts(system: System) -> dict[str, str]:
    return dict(files_of(system, NODES, "/bed/prolog")(rehearsal_spec(NODES), Path("/bed/own")))


def test_pbs_has_the_queue_the_resources_of_chunks_and_those_of_whole_jobs() -> None:
    texts = file_texts(system_of("pbs"))
    assert texts["qmgr.txt"].splitlines()[5:] == [
        "create resource ngpus type=long, flag=nh",
        "create resource gpu_model type=string_array, flag=h",
        "create resource filesystems type=string",
        "create queue prod queue_type=execution, enabled=True, started=True",
        "set server default_queue = prod",
        *(
            line
            for node in NODES
            for line in (
                f"create node {node}",
                f"set node {node} resources_available.ncpus = 112",
                f"set node {node} resources_available.ngpus = 4",
                f"set node {node} resources_available.gpu_model = h100",
                f"set node {node} resources_available.mem = 512000mb",
            )
        ),
    ]
    assert texts["counted"] == "ngpus, gpu_model, "
    assert not {"vnodes", "totals.py"} & texts.keys()


def test_a_server_without_chunks_makes_whole_nodes_of_totals() -> None:
    texts = file_texts(system_of("gadi"))
    assert texts["qmgr.txt"].splitlines()[5:9] == [
        "create resource storage type=string",
        "create resource wd type=boolean",
        "create queue normal queue_type=execution, enabled=True, started=True",
        "set server default_queue = normal",
    ]
    assert texts["qmgr.txt"].endswith("import hook totals application/x-python default /bed/own/totals.py\n")
    assert "\nCORES = 48\n" in texts["totals.py"]


@pytest.mark.parametrize(
    ("words", "resources"),
    [
        ('"ngpus=2:gputype=a100"', (("ngpus", "long", "nh", "2"), ("gputype", "string_array", "h", "a100"))),
        ('"bigscratch=10gb"', (("bigscratch", "size", "nh", "10gb"),)),
        ('"nvme=true"', (("nvme", "boolean", "h", "true"),)),
        ('"-l jobfs=10gb,walltime=1:00:00"', (("jobfs", "size", "", ""),)),
        ('"-l licence=2", "-lfoo=a+b"', (("licence", "long", "", ""), ("foo", "string", "", ""))),
        ('"mem=10gb"', ()),
        ('"ib-hdr=true:gpus-4=1"', (("ib-hdr", "boolean", "h", "true"), ("gpus-4", "long", "nh", "1"))),
        ('"-l place=scatter:group=leaf-switch"', (("leaf-switch", "string_array", "h", "all"),)),
        ('"-l place=scatter:group=host"', ()),
    ],
)
def test_a_resource_of_pbs_has_the_type_of_its_value(
    tmp_path: Path, words: str, resources: tuple[tuple[str, str, str, str], ...]
) -> None:
    access = 'access: ["-l filesystems=home:work", "ngpus=4", "gpu_model=h100"]'
    system = changed_system("pbs", tmp_path, (access, f"access: [{words}]"))
    assert pbs_layout(system).resources == tuple(PbsResource(*each) for each in resources)


def test_nodes_of_pbs_have_what_the_file_states_and_otherwise_what_jobs_ask_for(tmp_path: Path) -> None:
    """With stated hardware a job that asks for too much can never run, and the rehearsal says so."""
    access = 'access: ["-l filesystems=home:work", "ngpus=4", "gpu_model=h100"]'
    more = changed_system("pbs", tmp_path, (access, 'access: ["ncpus=224:mem=400gb"]'))
    assert (pbs_layout(more).cores, pbs_layout(more).memory) == (224, "512000mb")
    too_much = changed_system("pbs", tmp_path, (access, 'access: ["ncpus=300"]'))
    assert pbs_layout(too_much).cores == 112
    gone = more.model_copy(update={"nodes": more.nodes.model_copy(update={"hardware": None})})
    assert (pbs_layout(gone).cores, pbs_layout(gone).memory) == (224, "400gb")


def test_a_partition_of_pbs_that_gives_whole_nodes_says_so_of_each_node(tmp_path: Path) -> None:
    asks = changed_system("pbs", tmp_path, ("  exclusive: true\n", "  exclusive: true\nnodes: {exclusive: true}\n"))
    assert "vnodes" not in file_texts(asks)
    does_not = changed_system(
        "pbs", tmp_path, ("  exclusive: true\n", "  exclusive: false\nnodes: {exclusive: true}\n")
    )
    assert file_texts(does_not)["vnodes"].splitlines()[-1] == "@NODE@: sharing = force_excl"


def test_flux_has_the_queue_the_cores_and_the_required_property() -> None:
    texts = file_texts(system_of("flux"))
    assert "[queues.pbatch]\n" in texts["flux.toml"] and 'queue = "pbatch"\n' in texts["flux.toml"]
    execution = json.loads(texts["resources.json"])["execution"]
    assert execution["R_lite"] == [{"rank": "0-1", "children": {"core": "0-111"}}]
    assert (execution["nodelist"], execution["properties"]) == (["n1", "n9"], {"ndr": "0-1"})


@pytest.mark.parametrize(
    ("constraint", "properties"),
    [
        ("ib&-old|not(dev)", ("ib", "old", "dev")),
        ("host:n[1-2],n9&hbm", ("hbm",)),
        ("rank:0-1", ()),
        ("ib-hdr", ("ib-hdr",)),
        ("4gpu", ("4gpu",)),
        ("hbm|-ib-hdr|(-4gpu&v2.1+x)", ("hbm", "ib-hdr", "4gpu", "v2.1+x")),
        ("properties:ib-hdr,^old&hostlist:n1", ("ib-hdr", "old")),
        ("^old", ("old",)),
        ("ib||hbm&&not(ranks:0)", ("ib", "hbm")),
    ],
)
def test_each_property_in_a_constraint_of_flux(tmp_path: Path, constraint: str, properties: tuple[str, ...]) -> None:
    system = changed_system("flux", tmp_path, ("constraint: ndr", f'constraint: "{constraint}"'))
    assert flux_layout(system).properties == properties


def test_grid_engine_has_the_queue_the_environments_the_resources_and_the_project() -> None:
    layout = sge_layout(system_of("sge"))
    assert (layout.slots, layout.queues, layout.projects) == (112, ("long.q",), ("proj",))
    assert layout.environments == {f"mpi-{slots}": f"{slots}" for slots in range(1, 113)}
    assert layout.resources == (
        SgeResource("mem", "mem", "MEMORY", "<=", True, "512000M"),
        SgeResource("infiniband", "infiniband", "BOOL", "==", False, "true"),
    )
    texts = file_texts(system_of("sge"))
    assert "allocation_rule    2\n" in texts["pe.mpi-2"]
    assert texts["complexes"].splitlines()[:2] == [
        "exclusive excl BOOL EXCL YES YES 0 1000",
        "mem mem MEMORY <= YES YES 0 0",
    ]
    assert texts["values"] == "exclusive=true,mem=512000M,infiniband=true"
    assert "slots 112\n" in texts["queue.long.q"]


def test_a_partition_of_grid_engine_that_gives_whole_nodes_asks_for_them_in_place_of_each_job() -> None:
    assert (file_texts(system_of("kathleen"))["request"], file_texts(system_of("sge"))["request"]) == (
        "-l exclusive=true\n",
        "",
    )


def test_an_environment_without_a_number_fills_one_node_after_the_other(tmp_path: Path) -> None:
    assert sge_layout(system_of("kathleen")).environments == {"mpi": "$fill_up"}
    one = changed_system("sge", tmp_path, ("-pe mpi-{num_slots_per_node} {num_slots}", "-pe whole {num_nodes}"))
    assert sge_layout(one).environments == {"whole": "1"}


@pytest.mark.parametrize(
    ("option", "resource"),
    [
        ("-l ib-hdr=true", SgeResource("ib-hdr", "ib-hdr", "BOOL", "==", False, "true")),
        ("-l ib_hdr", SgeResource("ib_hdr", "ib_hdr", "BOOL", "==", False, "true")),
        ("-l card='a100|v100'", SgeResource("card", "card", "RESTRING", "==", False, "a100")),
        ("-l card='(a1?0*|v100)&!old'", SgeResource("card", "card", "RESTRING", "==", False, "a1x0")),
        ("-l card='!k80'", SgeResource("card", "card", "RESTRING", "==", False, "other")),
        ("-l card='[av]100'", SgeResource("card", "card", "RESTRING", "==", False, "a100")),
        ("-l share=0.5", SgeResource("share", "share", "DOUBLE", "<=", False, "0.5")),
        ("-l lent=1:0:0", SgeResource("lent", "lent", "TIME", "<=", False, "1:0:0")),
        ("-l scratch=1T", SgeResource("scratch", "scratch", "MEMORY", "<=", True, "512000M")),
    ],
)
def test_each_node_of_grid_engine_has_what_a_request_fits(tmp_path: Path, option: str, resource: SgeResource) -> None:
    access = 'access: ["-l mem=4G", "-l infiniband=true"]'
    system = changed_system("sge", tmp_path, (access, f'access: ["{option}"]'))
    assert sge_layout(system).resources == (resource,)
    # qconf -Mc refused "0" for a text: 'Complex "card" cannot have a (non-zero) default value'.
    line = next(line for line in file_texts(system)["complexes"].splitlines() if line.startswith(f"{resource.name} "))
    assert line.split()[6] == ("NONE" if resource.type == "RESTRING" else "0")


@pytest.mark.parametrize(
    ("queue", "queues"),
    [
        ("long.q@n1", ("long.q",)),
        ("long.q@@ib,short.q", ("long.q", "short.q")),
        ("'long*'", ("long",)),
        ("'*@n1'", ("all.q",)),
    ],
)
def test_a_queue_is_known_by_its_name_without_nodes(tmp_path: Path, queue: str, queues: tuple[str, ...]) -> None:
    asks = ("partition: long.q\n", "partition: null\n"), ('"-l mem=4G"', f'"-l mem=4G", "-q {queue}"')
    assert sge_layout(changed_system("sge", tmp_path, *asks)).queues == queues


def test_a_parallel_environment_is_known_by_one_name_that_its_pattern_fits(tmp_path: Path) -> None:
    one = changed_system("sge", tmp_path, ("-pe mpi-{num_slots_per_node} {num_slots}", "-pe orte* {num_slots}"))
    assert sge_layout(one).environments == {"orte": "$fill_up"}
