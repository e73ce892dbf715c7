"""Old addresses of modules, from before they were in packages. They work for one release and say what to change.

A site's own checks and settings import some of them. Python asks here only for what it has found nowhere else.
"""

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NoReturn, cast

from railyard.base.wording import listing

#: Names that a site's own checks import, and what they are called now at the new address.
RENAMED: Mapping[str, str] = {"installed": "find_stack", "parted": "split_threshold", "tuned": "tuned_name"}
#: Below ``railyard``: each old module, and where its names are now. For an old package, its modules are listed too.
MOVED: Mapping[str, str] = {
    "afterwards": "verdict.findings",
    "allocated": "rfm.run.session",
    "allocation": "rfm.run.session",
    "appassess": "verdict.applications",
    "applicationfile": "benchmarks.apps.installed_applications",
    "applicationtable": "benchmarks.table.applications",
    "apps": "benchmarks.apps",
    "apps.alone": "benchmarks.apps.every_node",
    "apps.hpccinput": "benchmarks.apps.hpl",
    "apps.hpldat": "benchmarks.apps.hpl",
    "apps.hplplan": "benchmarks.apps.hpl",
    "apps.installedapp": "benchmarks.apps.installed_applications",
    "apps.leasttraffic": "benchmarks.apps.least_traffic",
    "apps.milcinput": "benchmarks.apps.milc",
    "apps.milcphysics": "benchmarks.apps.milc",
    "apps.milcrun": "benchmarks.apps.milc",
    "apps.npbmzshape": "benchmarks.apps.npb",
    "apps.npbshape": "benchmarks.apps.npb",
    "apps.scaling": "results.sweeps",
    "apps.sharedprocessor": "benchmarks.apps.every_node",
    "apps.sweeps": "results.sweeps",
    "apps.usedrails": "verdict.path.proof",
    "apps.wrfcase": "benchmarks.apps.wrf",
    "assess": "verdict.assess",
    "bands": "site.references.load site.references.model site.references.amount",
    "benchmarkform": "benchmarks.model",
    "benchmarktable": "benchmarks.table.micro benchmarks.table.perftest",
    "besideform": "results.run_folder site.references.band",
    "bondedports": "verdict.path.ports",
    "bonding": "hardware.links",
    "bounds": "base.bounds",
    "breadth": "rfm.run.options",
    "capture": "results.capture results.repeats",
    "casename": "site.test_id",
    "catalogue": "rfm.checks.catalogue",
    "causes": "verdict.hints.causes",
    "causeshapes": "verdict.hints.shapes",
    "cells": "site.matrix",
    "circumstances": "job.provenance",
    "cleantext": "base.values",
    "commands": "cli.commands",
    "compare": "results.comparison results.pairing results.shift",
    "compare.conditions": "results.comparison",
    "compare.finding": "results.shift",
    "compare.regression": "results.comparison",
    "compare.selector": "results.pairing",
    "console": "base.terminal",
    "cost": "results.relations",
    "counterfacts": "job.counters",
    "counters": "job.counters",
    "countertable": "hardware.counters",
    "curve": "benchmarks.model",
    "detect": "cluster.detect",
    "detect.bonds": "cluster.detect.ports",
    "detect.hwloc": "cluster.detect.detected_cluster",
    "detect.netports": "cluster.detect.ports",
    "detect.node": "cluster.detect.detected_cluster",
    "detect.schedulers": "cluster.detect.detected_cluster",
    "detect.stacktext": "cluster.detect.system_text",
    "detect.systemtext": "cluster.detect.system_text",
    "detect.write": "cluster.detect.system_text",
    "detect.yamltext": "cluster.detect.system_text",
    "devicecounters": "job.counters",
    "disturbance": "verdict.path.other_traffic",
    "doctor": "cluster.doctor",
    "doctor.asklogin": "cluster.doctor.login",
    "doctor.asknodes": "cluster.doctor.ask_nodes",
    "doctor.finding": "base.errors",
    "doctor.nodeblock": "cluster.doctor.node_block",
    "doctor.noderules": "cluster.doctor.judge",
    "doctor.railports": "cluster.doctor.rail_rules",
    "doctor.railrules": "cluster.doctor.rail_rules",
    "energy": "job.counters",
    "errors": "base.errors",
    "fabric": "cluster.fabric",
    "fabric.answers": "cluster.fabric.own_json",
    "fabric.errorcounts": "cluster.fabric.link_state",
    "fabric.linkstate": "cluster.fabric.link_state",
    "fabric.manager": "cluster.fabric.members",
    "fabric.merge": "cluster.fabric.model",
    "fabric.ownjson": "cluster.fabric.own_json",
    "fabric.pciconfig": "cluster.fabric.sysfs",
    "fabricstate": "site.systems.parts",
    "fields": "base.fields base.values",
    "filelock": "base.files",
    "history": "results.history results.series",
    "home": "base.paths",
    "hops": "site.topology",
    "idlerails": "results.remarks",
    "installed": "provision.installed_stack",
    "installedcheck": "rfm.checks.application",
    "jsonform": "base.json_codec",
    "judging": "verdict.stored_outputs.judge",
    "judginginputs": "verdict.inputs",
    "judgingtarget": "verdict.stored_outputs.target",
    "judgingtext": "verdict.stored_outputs.judgement",
    "launch": "job.launch",
    "leafswitches": "site.topology",
    "likeness": "verdict.hints.causes",
    "linked": "stacks.libraries",
    "linkerrors": "verdict.path.ports",
    "links": "hardware.limits hardware.links",
    "linktable": "hardware.links",
    "lint": "site.references.lint base.errors",
    "masking": "results.record.masking",
    "metrics": "benchmarks.metrics benchmarks.model benchmarks.table.micro benchmarks.moved_bytes",
    "modelerrors": "base.fields",
    "movedbytes": "benchmarks.moved_bytes",
    "mpichfortran": "provision.mpi_prefixes",
    "networktable": "benchmarks.table.network",
    "nodefacts": "job.node_facts",
    "nodefile": "hardware.node",
    "nodenames": "base.hostlist",
    "nodestate": "parsers.slurm",
    "pairassess": "verdict.node_pairs",
    "pairblame": "verdict.blame.node_pairs",
    "pairjob": "job.probe_job",
    "pairlaunch": "job.client_server",
    "pairs": "verdict.blame.search verdict.blame.search.model verdict.blame.search.search",
    "pairs.bisection": "verdict.blame.search.model",
    "pairtable": "benchmarks.node_pairs",
    "pairtools": "job.client_server",
    "parsedjson": "cli.commands.parse",
    "parsers.fabric.counters": "hardware.counters",
    "parsers.fabric.jsontext": "parsers.fabric.text",
    "parsers.fabric.linkinfo": "parsers.fabric.iblinkinfo",
    "parsers.fabric.speeds": "hardware.links",
    "parsers.hpccwords": "parsers.hpcc",
    "parsers.hplrun": "parsers.hpl",
    "parsers.imbrows": "parsers.imb",
    "parsers.iperf3json": "parsers.iperf3",
    "parsers.iperf3run": "parsers.iperf3",
    "parsers.netpipefile": "parsers.netpipe",
    "parsers.osuheadings": "parsers.osu_headings",
    "parsers.osurows": "parsers.osu",
    "parsers.osutitles": "parsers.osu_headings",
    "parsers.perftestformats": "parsers.perftest_formats",
    "parsers.perftestjson": "parsers.perftest",
    "parsers.perftestrun": "parsers.perftest",
    "parsers.railparts": "parsers.output",
    "parsers.signs": "parsers.lines",
    "pathplan": "verdict.path.proof",
    "pathproof": "verdict.path.proof verdict.path.traffic",
    "payload": "benchmarks.moved_bytes",
    "pipeline": "cli.gitlab_pipeline",
    "pipelinescripts": "cli.gitlab_pipeline",
    "placement": "job.node_facts",
    "prefixes": "provision.mpi_prefixes",
    "pricecheck": "site.systems.checks",
    "pricefile": "site.systems.fields",
    "probes": "rfm.checks.prober site.systems.measure",
    "programs": "provision.programs",
    "progress": "rfm.run.reframe",
    "prometheus": "results.exports",
    "prooffile": "site.systems.model",
    "provenance": "job.provenance",
    "provided": "provision.testbed.lifecycle",
    "quantiles": "base.numbers",
    "railbytes": "verdict.path.traffic",
    "railpolicies": "site.matrix",
    "railsplit": "verdict.path.traffic",
    "record": "results.record.file results.record.form",
    "recordform": "results.record.form",
    "recording": "verdict.assess",
    "recordschema": "cli.commands.schema",
    "referencecheck": "site.references.checks",
    "referencefields": "site.references.model site.references.amount",
    "referencefile": "site.references.model site.references.amount",
    "referencelist": "results.reference_sheet",
    "referencepage": "results.reference_sheet",
    "references": "site.references.load",
    "referencesources": "site.references.load",
    "referencetwins": "site.references.checks",
    "relationcheck": "site.references.checks",
    "relationfile": "site.references.model",
    "relationforms": "site.references.relation_forms",
    "relations": "results.relations",
    "replay": "provision.replay",
    "replay.apptexts": "provision.replay.texts",
    "replay.curvemodel": "provision.replay.reference_outputs",
    "replay.modelfile": "provision.replay.reference_outputs",
    "replay.origin": "provision.replay.form",
    "replay.patterntexts": "provision.replay.texts",
    "replay.scrub": "results.store.exchange",
    "replay.streamtexts": "provision.replay.texts",
    "report": "results.report results.report.files",
    "report.csvtable": "results.exports",
    "report.facts": "results.report.overview",
    "report.history": "results.report.spread",
    "report.overtime": "results.report.spread",
    "report.sweepcharts": "results.report.svg",
    "report.textplot": "results.report.output_text",
    "rfm_backends": "rfm.backends",
    "rfm_current": "rfm.system_choice",
    "rfm_fabric": "rfm.checks.fabric",
    "rfm_figures": "rfm.checks.base",
    "rfm_guards": "rfm.guards",
    "rfm_judging": "rfm.checks.base rfm.checks.declaration",
    "rfm_output": "rfm.run.output",
    "rfm_placing": "job.node_facts rfm.checks.declaration",
    "rfm_probing": "rfm.checks.prober",
    "rfm_scheduler": "rfm.backends",
    "rfm_slurm": "job.batch rfm.checks.declaration",
    "rfm_starting": "rfm.checks.base rfm.checks.runner",
    "rfm_warnings": "rfm.run.output",
    "rules": "verdict.rule_model verdict.run_rules verdict.reference_rule",
    "rules.complete": "verdict.run_rules",
    "rules.inputs": "verdict.rule_model",
    "rules.metrics": "verdict.rule_model verdict.run_rules",
    "rules.path": "verdict.run_rules",
    "rules.possible": "verdict.run_rules",
    "rules.reference": "verdict.reference_rule",
    "run": "rfm.run.reframe results.run_folder rfm.run.options",
    "runcase": "job.case",
    "saidmpi": "job.mpi_identity",
    "samebytes": "job.counters",
    "schedulerfile": "site.systems.jobs",
    "schedulernames": "site.systems.jobs",
    "schedulerstate": "parsers.slurm",
    "schema": "cli.commands.schema",
    "selection": "rfm.run.options",
    "session": "rfm.run.session",
    "settle": "rfm.run.reframe",
    "shipped": "base.paths",
    "skeleton": "cli.commands.init",
    "slots": "job.node_facts",
    "slurmask": "job.clients",
    "soak": "cluster.soak cluster.soak_job",
    "spack": "provision.spack",
    "spack.buildlock": "provision.spack.build",
    "spack.compilers": "provision.spack.bootstrap",
    "spack.compose": "provision.spack.sources",
    "spack.lockfit": "provision.spack.locks",
    "spack.mirrors": "provision.spack.build",
    "spack.progress": "provision.spack.build",
    "spack.relock": "provision.spack.build",
    "spack.tools": "benchmarks.table.micro",
    "spackenv": "rfm.spack_build",
    "spackfile": "site.systems.stack_entry",
    "spreadsheet": "results.exports",
    "stacklog": "verdict.path.proof",
    "stacks.clientserver": "stacks.entries.client_server",
    "stacks.policy": "stacks.model",
    "store": "results.store results.store.query results.store.verify results.store.index",
    "store.nothing": "results.store.query",
    "strays": "verdict.path.other_traffic",
    "suspects": "verdict.blame.suspects",
    "systemcheck": "site.systems.checks site.systems.node_view",
    "systemfields": "site.systems.fields site.systems.node_view base.fields",
    "systemfile": "site.systems.model site.systems.stack_entry",
    "systemlike": "site.systems.node_part",
    "systems": "site.systems.load site.systems.model site.systems.stack_entry",
    "testbed": "provision.testbed provision.testbed.cluster provision.testbed.spec",
    "testbed.entry": "provision.testbed.scripts",
    "testbed.railstatus": "provision.testbed.cluster",
    "testbed.slurmtexts": "provision.testbed.slurm_texts",
    "textfile": "base.files",
    "variables": "results.record.masking",
    "withinproof": "verdict.path.proof",
    "wording": "base.wording",
    "yamlfile": "base.strict_yaml base.fields",
}

#: For packages that did not move: which module now has each name that the package itself used to have.
NAMES: Mapping[str, Mapping[str, str]] = {
    "stacks": {
        "ask": "LogProof Settings cores_a_rank device_patterns forward launch_options policies settings why_not",
        "model": "KINDS KNOBS NIC_PER_RANK POLICIES STACKS STRIPING TUNED_PATTERN Launch Proof Setting Spread Stack Way"
        " parted tuned unknown",
        "libraries": "own_feature pair_feature tool_features why_not_own why_not_tool",
    },
}
#: The files of Python's own import system, as stack frames name them.
_IMPORTING = (
    "<frozen importlib._bootstrap>",
    "<frozen importlib._bootstrap_external>",
    import_module.__code__.co_filename,
)
_SAID: set[str] = set()


class OldAddresses:
    """A finder and loader for Python's import: gives the module at its old address, and prints the new one.

    It does not derive from the classes of importlib.abc, since that takes 0.04 s to import.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return what loads the module, or None if it is not one of ours or never existed."""
        new = addresses(fullname)
        if not new:
            return None
        # An old package has no folder, so Python asks here for its modules too. This class loads but is not a Loader.
        return ModuleSpec(fullname, cast(Any, self), is_package=hasattr(import_module(new[0]), "__path__"))

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Return None: Python creates the module."""

    def exec_module(self, module: ModuleType) -> None:
        """Give an old module the names of the modules that replaced it. If several have a name, the first wins."""
        old, new = module.__name__, addresses(module.__name__)
        _say(f"{old}, {'which is' if len(new) == 1 else 'whose names are in'} {listing(new)} now")
        for name in reversed(new):
            found = vars(import_module(name))
            vars(module).update({each: value for each, value in found.items() if not each.startswith("__")})
            vars(module).update({before: found[now] for before, now in RENAMED.items() if now in found})
        if not hasattr(module, "__path__"):
            vars(module)["__getattr__"] = lambda name: _refuse_name(old, new, name)


def former(package: str, name: str) -> Any:
    """Return a name that a package itself used to have, and print where it is now. Raises AttributeError for others."""
    for module, names in NAMES[package.removeprefix("railyard.")].items():
        if name in names.split():
            _say(f"{name} from {package}, which is in {package}.{module} now")
            return getattr(import_module(f"{package}.{module}"), RENAMED.get(name, name))
    raise AttributeError(f"module {package!r} has no attribute {name!r}")


def addresses(old: str) -> tuple[str, ...]:
    """Return the full names of the modules that replaced one; () if none did."""
    root, _, name = old.partition(".")
    if root != "railyard":
        return ()
    if name in MOVED:
        return tuple(f"{root}.{each}" for each in MOVED[name].split())
    head, _, tail = name.rpartition(".")
    new = f"{root}.{MOVED[head].split()[0]}.{tail}" if head in MOVED else ""
    return (new,) if new and _is_there(new) else ()


def _is_there(name: str) -> bool:
    try:
        import_module(name)
    except ModuleNotFoundError:
        return False
    return True


def _refuse_name(old: str, new: Sequence[str], name: str) -> NoReturn:
    if name.startswith("__"):  # Python itself asks a module for these
        raise AttributeError(f"module {old!r} has no attribute {name!r}")
    raise ImportError(f"{name} is not in {old}, which is {listing(new)} now, and not there either; see CHANGELOG.md")


def _say(what: str) -> None:
    """Print who imports what. This also works under ReFrame, which hides Python's own warnings."""
    frame = sys._getframe(1)
    while frame.f_back is not None and (
        frame.f_code.co_filename in (__file__, *_IMPORTING) or frame.f_code.co_name == "__getattr__"
    ):
        frame = frame.f_back
    sentence = (
        f"railyard: {frame.f_code.co_filename}:{frame.f_lineno} imports {what}; change that line: the next release "
        f"removes the old address"
    )
    if sentence not in _SAID:  # an import statement asks a package twice for a name
        _SAID.add(sentence)
        print(sentence, file=sys.stderr)
