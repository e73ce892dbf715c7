"""A small synthetic site whose stacks a fake Spack builds: system, overlay, environments and references."""

import json
import os
import re
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from railyard.provision.spack.request import Request
from tests.made.fake_spack import digest

FAKE = Path(__file__).with_name("fake_spack.py")

SYSTEM = """\
system: made
description: Processes of this host in place of a cluster
provider: nodes
scheduler: local
launcher: local
nodes: {names: [n1, n2], exclusive: false}
fabrics:
  hsn:
    description: One rail without counters
    kind: tcp
    link: {name: test-link, data_rate_gbit_s: 100, headers: tcp, mtu: 65536, limit_from: 1M, source: this test}
    rails:
      - {device: lo, counters: none}
stacks:
  openmpi:
    spack: {benchmarks: [osu, imb]}
  mpich:
    spack: {benchmarks: [imb]}
"""
REFERENCES = """\
system: made
entries:
  - id: floor
    fabric: hsn
    benchmark: imb/PingPong
    metric: bandwidth
    unit: MB/s
    kind: contract
    floor: 1
    sizes: {from: 64K, to: 1M}
    below_link: {share: 0.0001, reason: a script stands in for the benchmark}
    source: {document: this test, date: 2026-11-21}
"""
OVERLAY = """\
packages:
  all:
    target: [x86_64_v3]
  openmpi:
    buildable: false
    externals:
    - {spec: openmpi@4.1.4, prefix: "{home}/mpi/openmpi"}
  mpich:
    buildable: false
    externals: [{spec: mpich@5.0.2, prefix: "{home}/mpi/mpich"}]
"""
PACKAGES = """\
# Versions, each with its reason.
packages:
  osu-micro-benchmarks:
    require:
    - "@7.4" # the newest that was tried
    - ~cuda
  intel-mpi-benchmarks:
    require: ["@2021.7", +mpi1]
  npb:
    require: ["@3.4.3", "classes:=S,W", implementation=mpi]
"""
DEFINITIONS = """\
definitions:
- benchmarks:
  - osu-micro-benchmarks
  - intel-mpi-benchmarks
- benchmarks: [npb]
  when: '"npb" in env.get("RAILYARD_SPACK_WITH", "").split(",")'
"""
MANIFEST = """\
# {stack}
spack:
  include: [../common]
  specs: [$benchmarks]
  packages:
    mpi:
      require: [{stack}]
  view: false
"""


@dataclass(frozen=True)
class MadeSite:
    """The site's folder, and the fake's folder: its programs in ``bin``, its behaviour, the log of its calls."""

    home: Path
    fake: Path

    @property
    def bin(self) -> Path:
        return self.fake / "bin"

    def behave(self, **told: Any) -> None:
        """Set the fake's behaviour: version, packages, mpi, linked, leave_out, fail, fail_for, held, externals …"""
        (self.fake / "behaviour.json").write_text(json.dumps(told), encoding="utf-8")

    def has_tree(self, tree: Path, packages: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
        """Make an install tree of another Spack: package -> version and its library; return the fake's ``trees``."""
        (tree / ".spack-db").mkdir(parents=True)
        (tree / ".spack-db/index.json").write_text("{}", encoding="utf-8")
        told = {}
        for name, (version, soname) in packages.items():
            library = tree / f"{name}-{version}-{digest(name)}/lib/{soname}"
            library.parent.mkdir(parents=True)
            library.write_text("a library", encoding="utf-8")
            told[name] = {"version": version, "tree": str(tree)}
        return told

    def let_go(self) -> None:
        """Let the commands go on that ``behave(held=…)`` stopped."""
        (self.fake / "go").touch()

    @property
    def calls(self) -> list[dict[str, Any]]:
        """Each call of the fake, in order: its words, and the variables that matter."""
        file = self.fake / "calls"
        return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.is_file() else []

    @property
    def commands(self) -> list[str]:
        """The command of each call: ``--version``, ``concretize``, ``install``, ``find``."""
        return [next(word for word in call["words"] if word != "-e" and "/" not in word) for call in self.calls]

    def forget_calls(self) -> None:
        (self.fake / "calls").unlink(missing_ok=True)

    def request(self, stack: str = "openmpi", tools: tuple[str, ...] = ("osu", "imb"), **more: Any) -> Request:
        """Return what the site wants of Spack for a stack."""
        return Request(self.home, "made", stack, stack, self.home / ".railyard" / "spack", tools, **more)

    def write(self, file: str, text: str) -> Path:
        path = self.home / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def edit(self, file: str, old: str, new: str) -> None:
        """Replace a text that must be in one of the site's files."""
        text = (self.home / file).read_text(encoding="utf-8")
        assert old in text, f"{file} has no {old!r}"
        self.write(file, text.replace(old, new))

    def environment(self, **more: str) -> dict[str, str]:
        """Return variables with which a process finds the fake and this site."""
        kept = {name: text for name, text in os.environ.items() if not name.startswith(("RFM_", "RAILYARD_"))}
        return {**kept, "PATH": f"{self.bin}:{kept['PATH']}", "RAILYARD_HOME": str(self.home), **more}


def make(folder: Path) -> MadeSite:
    """Fill a folder with the site, its two MPI libraries, and the fakes of spack and ldd."""
    site = MadeSite(folder / "site", folder / "fake")
    site.write("systems/made.yaml", SYSTEM)
    site.write("systems/spack/made.yaml", OVERLAY)
    site.write("references/made.yaml", REFERENCES)
    site.write("spack_envs/common/packages.yaml", PACKAGES)
    site.write("spack_envs/common/definitions.yaml", DEFINITIONS)
    site.write("spack_envs/repo/spack_repo/made/repo.yaml", "repo: {namespace: made, api: v2.0}\n")
    for stack, soname in (("openmpi", "libmpi.so.40"), ("mpich", "libmpi.so.12")):
        site.write(f"spack_envs/{stack}/spack.yaml", MANIFEST.replace("{stack}", stack))
        site.write(f"mpi/{stack}/lib/{soname}.1.2", "a library")
        (site.home / f"mpi/{stack}/lib/{soname}").symlink_to(f"{soname}.1.2")
    program(site.bin / "spack", f'exec "{sys.executable}" "{FAKE}" "{site.fake}" "$@"')
    program(site.bin / "ldd", '[ -f "$1.ldd" ] && exec cat "$1.ldd"; echo "\tnot a dynamic executable"; exit 1')
    site.behave()
    return site


def timeless(lines: list[str]) -> list[str]:
    """Return the lines of a build as if each had taken no time."""
    return [re.sub(r"(built in|after|is in \S+) (\(?)\d+ s", r"\1 \g<2>0 s", line) for line in lines]


def program(path: Path, body: str) -> Path:
    """Write an executable shell script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    return path
