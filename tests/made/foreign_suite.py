"""A small ReFrame suite of another author: settings, a check, and a site of Railyard beside them."""

from pathlib import Path
from typing import Any

import reframe.core.settings as reframe_settings
from reframe.core.config import _SiteConfig

from railyard.rfm.settings import build

#: Its settings; nothing of it is Railyard's. ``{general}`` and ``{logging}`` are more sections.
SETTINGS = """\
site_configuration = {{
    "systems": [
        {{
            "name": "{name}",
            "hostnames": ["{hosts}"],
            "partitions": [
                {{
                    "name": "icelake",
                    "scheduler": "local",
                    "launcher": "local",
                    "environs": ["gnu", "mpich"],
                    "features": ["cpu", "remote"],
                    "extras": {{"mem_per_node": 256}},
                    "resources": [{{"name": "memory", "options": ["--mem={{size}}"]}}],
                    "max_jobs": 4,
                    "processor": {{"num_cpus": 2}},
                }}
            ],
        }}
    ],
    "environments": [
        {{"name": "gnu", "cc": "gcc", "features": ["c"]}},
        {{"name": "mpich", "cc": "mpicc", "features": ["mpi"], "target_systems": ["{name}"]}},
    ],
    {sections}
}}
{end}
"""
#: Its checks. The first ends with 3, as its author means it; with `trap_job_errors` it would fail.
CHECKS = """\
import reframe as rfm
import reframe.utility.sanity as sn


class Base(rfm.RunOnlyRegressionTest):
    executable = "echo rate 7; exit 3; #"

    @sanity_function
    def is_right(self):
        return sn.assert_found("rate 7", self.stdout)

    @performance_function("MB/s")
    def rate(self):
        return sn.extractsingle(r"rate (\\d+)", self.stdout, 1, float)


class Library(rfm.RunOnlyRegressionTest):
    executable = "true"

    @sanity_function
    def is_right(self):
        return sn.assert_true(True)


@rfm.simple_test
class ByFeature(Base):
    valid_systems = ["+cpu"]
    valid_prog_environs = ["gnu"]


@rfm.simple_test
class Anywhere(Base):
    library = fixture(Library, scope="environment")
    valid_systems = ["*"]
    valid_prog_environs = ["*"]


@rfm.simple_test
class WithoutGpus(Base):
    valid_systems = ["-gpu"]
    valid_prog_environs = ["mpich"]
"""
#: A system of Railyard.
SYSTEM = """\
system: {name}
description: A cluster
nodes: {{count: 2}}
report_only: delivered yesterday
fabrics:
  eth:
    description: Ethernet
    kind: tcp
    link: eth-10
    rails: [{{device: eth0, counters: netdev}}]
stacks:
  mpich: {{prefix: /opt/mpich, benchmarks: {{osu: /opt/osu}}}}
{more}
"""
RAILYARD_SETTINGS = "from railyard.siteconfig import build\n\nsite_configuration = build(__file__)\n"


def write_foreign(
    folder: Path, name: str = "csd3", *, hosts: str = "login-csd3", sections: str = "", end: str = ""
) -> Path:
    """Write the other suite's settings and its check into a folder; return the settings' path."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "their_checks.py").write_text(CHECKS, encoding="utf-8")
    path = folder / "their_settings.py"
    path.write_text(SETTINGS.format(name=name, hosts=hosts, sections=sections, end=end), encoding="utf-8")
    return path


def write_site(folder: Path, *names: str, more: str = "") -> Path:
    """Write a site of Railyard with systems of these names; return the path of its settings."""
    (folder / "systems").mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / f"systems/{name}.yaml").write_text(SYSTEM.format(name=name, more=more), encoding="utf-8")
    path = folder / "reframe_settings.py"
    path.write_text(RAILYARD_SETTINGS, encoding="utf-8")
    return path


def settings_of(path: Path) -> dict[str, Any]:
    """Return the dictionary of a settings file."""
    if path.name == "reframe_settings.py":
        return build(path)
    names: dict[str, Any] = {}
    exec(path.read_text(encoding="utf-8"), names)
    found = names["site_configuration"]
    assert isinstance(found, dict)
    return found


def config_of(*paths: Path) -> _SiteConfig:
    """Return ReFrame's configuration of these files, in this order, as `reframe -C … -C …` reads them."""
    site = _SiteConfig()
    site.update_config(reframe_settings.site_configuration, "<builtin>")
    for path in paths:
        site.update_config(settings_of(path), str(path))
    site.validate()
    return site
