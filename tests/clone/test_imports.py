"""Imports point one way, and pure modules stay pure."""

import ast
import subprocess
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import railyard

PACKAGE = Path(railyard.__file__).parent

#: The packages in order: each imports only those before it, whether at the top of a module, in functions or for types.
ORDER = (
    "base",
    "hardware",
    "stacks",
    "parsers",
    "benchmarks",
    "site",
    "results",
    "provision",
    "job",
    "verdict",
    "cluster",
    "rfm",
    "cli",
)

#: What stays at the root for a site's own files: the old address of a module -> where its names are now.
ADDRESSES = {
    "railyard.siteconfig": ("railyard.rfm.extend", "railyard.rfm.settings"),
    "railyard.check": (
        *(f"railyard.rfm.checks.{name}" for name in ("base", "declaration", "groups")),
        "railyard.site.systems.measure",
    ),
    "railyard.osucheck": ("railyard.rfm.checks.microbench",),
    "railyard.appcheck": tuple(f"railyard.rfm.checks.{name}" for name in ("application", "declaration")),
    "railyard.rfm_pairs": ("railyard.rfm.checks.pairs",),
}

#: What no pure module may import indirectly: the framework, other processes, a plotting library.
FORBIDDEN = ("reframe", "subprocess", "matplotlib")

#: What starts processes or imports ReFrame, each with its reason. A package means all that is in it.
IMPURE = {
    "railyard.base.commit": "asks git for the commit of a clone",
    "railyard.rfm.checks.application": "the base of the checks of applications",
    "railyard.rfm.checks.base": "the base of all checks: ReFrame's hooks",
    "railyard.rfm.checks.planned_problem": "the bases of HPL's checks",
    "railyard.rfm.checks.microbench": "the base of the checks that tell a tool how often to repeat",
    "railyard.rfm.checks.gpu": "the bases of the checks of GPUs",
    "railyard.rfm.checks.pairs": "the base of the checks of pairs of nodes",
    "railyard.rfm.checks.fabric": "the base of the check of a fabric's state",
    "railyard.rfm.checks.declaration": "what a check declares: ReFrame's variables and parameters",
    "railyard.rfm.checks.measured_run": "asks mpirun for its version, by provenance",
    "railyard.rfm.checks.replayed_run": "asks for versions, by provenance",
    "railyard.rfm.checks.prober": "measures again after a failure",
    "railyard.rfm.checks.other_way": "measures again after a pass, by prober",
    "railyard.rfm.checks.probe_places": "measures again after a failure",
    "railyard.rfm.checks.node_questions": "asks nodes after a failure, by probe_places",
    "railyard.rfm.checks.record": "measures again, by prober",
    "railyard.rfm.spack_build": "a fixture of ReFrame",
    "railyard.rfm.system_choice": "asks ReFrame for its current system",
    "railyard.rfm.refusals": "replaces functions of ReFrame that let an empty run, a taken name or an unfit folder by",
    "railyard.rfm.drop_reasons": "asks ReFrame for its current system",
    "railyard.rfm.guards": "hooks of ReFrame that close its silent passes",
    "railyard.rfm.backends": "a scheduler that ReFrame lacks, and a job by ReFrame",
    "railyard.rfm.schedulers": "schedulers that ReFrame lacks, and its PBS with our questions",
    "railyard.rfm.versions": "knows ReFrame's own names",
    "railyard.rfm.extend": "adds to ReFrame's configuration",
    "railyard.rfm.settings": "raises ReFrame's ConfigError",
    "railyard.rfm.run.reframe": "starts reframe",
    "railyard.rfm.run.requirements": "has Spack build, by prepare",
    "railyard.rfm.run.session": "brings the virtual cluster up, and asks git and uname",
    "railyard.cli.commands": "the commands of all these",
    "railyard.provision.testbed": "namespaces are made by ip, tc, nsenter",
    "railyard.provision.rehearsal.launcher": "starts a command on each node of a job",
    "railyard.provision.rehearsal.node_scripts": "knows the schedulers of a testbed",
    "railyard.provision.rehearsal.prepare": "holds the nodes of a rehearsal up, by bed",
    "railyard.provision.spack.bootstrap": "fetches with git, and starts spack by build",
    "railyard.provision.spack.calls": "starts spack",
    "railyard.provision.spack.build": "starts spack, by calls, and asks ldd",
    "railyard.provision.spack.detect": "starts spack, by calls",
    "railyard.provision.rehearsal.pair": "asks ip for the interface of an address",
    "railyard.provision.mpi_prefixes": "starts pip",
    "railyard.cluster.doctor.login": "asks Slurm whether it answers, and how it shares nodes, by slurm",
    "railyard.cluster.doctor.ask_nodes": "starts a job step",
    "railyard.cluster.fabric.saved_outputs": "starts the diagnostics of a fabric",
    "railyard.cluster.gate.ending": "starts what a gate asks and measures with, and ends it",
    "railyard.cluster.gate.look": "runs doctor.sh, by ending",
    "railyard.cluster.gate.on_nodes": "starts a job step, by ending",
    "railyard.cluster.gate.traffic": "starts perftest, STREAM and srun, by ending",
    "railyard.cluster.preflight.job": "starts steps of the job, by ending",
    "railyard.cluster.rolling.plan": "asks Slurm when nodes come free, by slurm",
    "railyard.cluster.rolling.under_scheduler": "asks the scheduler's commands",
    "railyard.cluster.rolling.collect": "asks for versions, by provenance",
    "railyard.cluster.rolling.run": "submits jobs, by under_scheduler",
    "railyard.cluster.soak": "sends over the virtual cluster's rails",
    "railyard.cluster.soak_job": "asks the scheduler's commands",
    "railyard.job.clients": "asks scontrol, sacct, flux, qstat and pbsnodes",
    "railyard.job.provenance": "asks mpirun for its version",
    "railyard.__main__": "ends the process",
    "railyard.siteconfig": "the address of settings that sites import",
    "railyard.check": "the address of the base of all checks that sites import",
    "railyard.osucheck": "the address of the base of OSU's checks that sites import",
    "railyard.appcheck": "the address of the base of applications' checks that sites import",
    "railyard.rfm_pairs": "the address of the base of pairs' checks that sites import",
}


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}


#: So many files a reader still finds a way in: whoever adds one merges two others, or says here why there must be more.
MOST_MODULES = 500


def is_impure(module: str) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in IMPURE)


PURE = [module for module in MODULES if not is_impure(module)]


@cache
def statements(path: Path) -> dict[ast.Import | ast.ImportFrom, bool]:
    """Return each import in a file, and whether it is at the top level. Each file is parsed once for all tests."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    top = set(tree.body)
    return {node: node in top for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)}


def imported_names(path: Path, top_level_only: bool) -> set[str]:
    """Return the dotted names that a file imports; `from a import b` gives a and a.b, and one of them is a module."""
    names: set[str] = set()
    for node, top_level in statements(path).items():
        if top_level_only and not top_level:
            continue
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        else:
            assert node.level == 0, f"{path}:{node.lineno}: a relative import; write railyard.…"
            names |= {f"{node.module}", *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


#: Imports the given modules one after another, and stops at the first that brings in a forbidden one.
IMPORT_EACH = """
import importlib, sys
forbidden, *modules = sys.argv[1:]
for module in modules:
    importlib.import_module(module)
    came = [name for name in forbidden.split() if name in sys.modules]
    if came:
        sys.exit(f"{module} drags in {' and '.join(came)}")
print(len(modules))
"""


def import_effects(modules: list[str]) -> tuple[str, str]:
    """Return how many modules one fresh interpreter imported, or the first that is not pure and what it brought in."""
    words = [sys.executable, "-c", IMPORT_EACH, " ".join(FORBIDDEN), *modules]
    answer = subprocess.run(words, capture_output=True, text=True, check=False)
    return answer.stdout.strip(), answer.stderr.strip()


def test_the_house_has_few_enough_pieces() -> None:
    assert len(MODULES) <= MOST_MODULES, "merge a module with its only reader, or say at MOST_MODULES why not"


def test_no_pure_module_drags_anything_in() -> None:
    assert import_effects(PURE) == (str(len(PURE)), "")


def test_a_module_that_is_not_pure_is_named_with_what_it_drags_in() -> None:
    assert import_effects(["railyard.benchmarks.model", "railyard.provision.mpi_prefixes", "railyard.cli.main"]) == (
        "",
        "railyard.provision.mpi_prefixes drags in subprocess",
    )


#: The parts of a check to which ReFrame's class passes its work: each is tested without ReFrame and works without it.
PARTS = (
    "measured_run",
    "plan",
    "probe_places",
    "prober",
    "record",
    "replayed_run",
    "runner",
)


def test_the_parts_of_a_check_need_no_reframe() -> None:
    modules = [f"railyard.rfm.checks.{name}" for name in PARTS]
    words = [sys.executable, "-c", IMPORT_EACH, "reframe", *modules]
    answer = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (answer.stdout.strip(), answer.stderr.strip()) == (str(len(PARTS)), "")


def edges() -> set[tuple[str, str]]:
    """Return (module, imported module) for each import of one of our modules by another, wherever it is written."""
    found = set()
    for module, path in MODULES.items():
        for node in statements(path):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            else:
                inner = [f"{node.module}.{alias.name}" for alias in node.names]
                names = [name if name in MODULES else str(node.module) for name in inner]
            found |= {(module, name) for name in names if name in MODULES and name != module}
    return found


def package_of(module: str) -> str:
    """Return the package below railyard that a module is in; for a module at the root, its own name or nothing."""
    return module.split(".")[1] if "." in module else ""


def test_every_package_has_its_place_in_the_order() -> None:
    folders = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()}
    assert sorted(folders) == sorted(ORDER)


def test_packages_import_only_those_before_them() -> None:
    place = {package: number for number, package in enumerate(ORDER)}
    ordered = {(module, name) for module, name in edges() if {package_of(module), package_of(name)} <= place.keys()}
    upward = {pair for pair in ordered if place[package_of(pair[1])] > place[package_of(pair[0])]}
    assert upward == set()


def test_at_the_root_are_only_addresses() -> None:
    root = {module for module in MODULES if module.count(".") == 1 and package_of(module) not in ORDER}
    assert root == {"railyard.__main__", *ADDRESSES}
    for old, new in ADDRESSES.items():
        body = ast.parse(MODULES[old].read_text(encoding="utf-8")).body
        assert [type(node) for node in body] == [ast.Expr, *[ast.ImportFrom] * len(new)], old
        assert imported_names(MODULES[old], top_level_only=True) == {*new, *(f"{name}.*" for name in new)}


def test_nothing_of_ours_imports_an_address_of_the_root() -> None:
    assert {(module, name) for module, name in edges() if name in ADDRESSES} == set()


def test_every_exception_is_one_that_exists() -> None:
    assert [name for name in IMPURE if name not in MODULES] == []


def test_the_pure_modules_are_found() -> None:
    assert {
        "railyard.benchmarks.model",
        "railyard.base.errors",
        "railyard.hardware.limits",
        "railyard.cli.main",
    } <= set(PURE)
    assert {
        "railyard.job.launch",
        "railyard.verdict.assess",
        "railyard.site.matrix",
    } <= set(PURE)
    assert {
        "railyard.stacks.libraries",
        "railyard.provision.installed_stack",
        "railyard.provision.spack.request",
    } <= set(PURE)


def test_only_one_package_imports_reframe() -> None:
    importers = {
        module
        for module, path in MODULES.items()
        if any(name.split(".")[0] == "reframe" for name in imported_names(path, top_level_only=False))
    }
    assert {module for module in importers if package_of(module) != "rfm"} == set()


def test_no_module_changes_where_python_looks() -> None:
    assert [module for module, path in MODULES.items() if "sys.path" in path.read_text(encoding="utf-8")] == []


def test_imports_go_round_in_no_circle() -> None:
    """Nor do imports within functions or for types: two modules that need each other are one subject, or badly cut."""
    graph: dict[str, set[str]] = {module: set() for module in MODULES}
    for module, name in edges():
        graph[module].add(name)
    try:
        tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail("a circle of imports: " + " -> ".join(error.args[1]))


def test_nothing_below_the_command_line_knows_it() -> None:
    above = ("railyard.cli", "railyard.__main__")
    offenders = {
        module
        for module, path in MODULES.items()
        if not module.startswith(above)
        and any(name.startswith(above) for name in imported_names(path, top_level_only=False))
    }
    assert offenders == set()


def test_a_listing_pays_for_nothing_that_only_a_run_needs() -> None:
    program = (
        "import sys, railyard.rfm.settings, railyard.rfm.checks.base, railyard.parsers.imb\n"
        "print(*sorted(name for name in sys.modules if name.startswith('railyard.') or name == 'rich'))"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    late = (
        "verdict.assess",
        "job.counters",
        "parsers.osu",
        "verdict.path.proof",
        "rfm.checks.plan",
        "rfm.checks.measured_run",
        "rfm.checks.prober",
        "results.record.file",
        "results.report",
        "results.run_folder",
        "rfm.run.reframe",
        "verdict.run_rules",
        "verdict.reference_rule",
        "verdict.blame.suspects",
        "provision.testbed.cluster",
        "provision.installed_stack",
        "cluster.doctor.login",
        "job.environment",
        "job.launch",
        "verdict.verdict",
    )
    assert [name for name in late if f"railyard.{name}" not in MODULES] == []
    assert set(answer.stdout.split()) & {"rich", *(f"railyard.{name}" for name in late)} == set()


def test_a_listing_of_all_checks_loads_nothing_that_judges_or_blames() -> None:
    """The search for slow pairs alone would add a tenth to it: it needs numpy."""
    program = (
        "import sys, pathlib, railyard.rfm.settings\n"
        "from railyard.rfm.checks.catalogue import names\n"
        f"assert 'AllPairs' in names(pathlib.Path({str(PACKAGE.parent / 'checks')!r}))\n"
        "print(*sorted(name for name in sys.modules if name.startswith('railyard.') or name == 'numpy'))"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    late = (
        "verdict.assess",
        "verdict.node_pairs",
        "verdict.blame.screening",
        "rfm.checks.prober",
        "rfm.checks.plan",
        "results.record.form",
    )
    assert [name for name in late if f"railyard.{name}" not in MODULES] == []
    assert set(answer.stdout.split()) & {"numpy", *(f"railyard.{name}" for name in late)} == set()


def test_the_garbage_collector_rests_while_settings_import_ours() -> None:
    """It would walk through all of ReFrame's objects and find nothing: a tenth of a listing's time."""
    program = (
        "import gc, reframe.frontend.cli\n"
        "before = sum(each['collections'] for each in gc.get_stats())\n"
        "import railyard.siteconfig\n"
        "print(sum(each['collections'] for each in gc.get_stats()) - before, gc.isenabled())"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    times, enabled = answer.stdout.split()
    assert int(times) <= 5 and enabled == "True"


def test_settings_load_no_check() -> None:
    """A check has as many variants as the current system has rails, which ReFrame knows only after its settings."""
    program = (
        "import sys\nimport railyard.siteconfig, railyard.rfm.settings\n"
        "print(*sorted(name for name in sys.modules if name.startswith('railyard.rfm.checks')))"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.split() == []


def test_a_gate_loads_only_what_reads_a_node_and_its_part_of_the_systems_file(tmp_path: Path) -> None:
    """It runs before each job on each node. pydantic's models alone would take more than half of its time."""
    program = (
        "import sys\nfrom railyard.cli.main import main\n"
        f"main(['gate', '--system', 'local', '--state', {str(tmp_path)!r}])\n"
        "print('modules', *sorted(name for name in sys.modules if name.startswith(('railyard.', 'pydantic'))))"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    modules = answer.stdout.rpartition("modules ")[2].split()
    assert "railyard.cluster.gate.look" in modules
    assert [name for name in modules if name.startswith("pydantic") and not name.startswith("pydantic_core")] == []
    assert [name for name in modules if name.startswith("railyard.site.")] == [
        "railyard.site.systems",
        *(f"railyard.site.systems.{name}" for name in ("node_part", "node_view")),
    ]
    late = (
        "job",
        "stacks",
        "benchmarks",
        "provision",
        "verdict",
        "rfm",
        "parsers.lines",
        "cluster.gate.traffic",
        "hardware.optics",
        "parsers.output",
    )
    assert [name for name in late if f"railyard.{name}" not in MODULES] == []
    assert [name for name in modules if name.startswith(tuple(f"railyard.{each}" for each in late))] == []


def test_judge_by_a_link_loads_no_systems_file(tmp_path: Path) -> None:
    """Its start would take twice as long."""
    output = tmp_path / "osu_bw.out"
    output.write_text(
        "# OSU MPI Bandwidth Test v7.5\n# Size      Bandwidth (MB/s)\n4194304  12100.00\n", encoding="utf-8"
    )
    program = (
        "import sys\nfrom railyard.cli.main import main\n"
        f"main(['judge', {str(output)!r}, '--link', 'ib-edr'])\n"
        "print('modules', *sorted(name for name in sys.modules if name.startswith('railyard.') or name == 'pydantic'))"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    modules = answer.stdout.rpartition("modules ")[2].split()
    assert "railyard.verdict.stored_outputs.judge" in modules
    assert [name for name in modules if name == "pydantic" or name.startswith("railyard.site.systems")] == []
