"""Installed files are known by size, times and hash: a replaced file is named before the next run."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from railyard.base.errors import SetupError
from railyard.provision import kept_files
from railyard.provision.installed_stack import changed_files, find_stack
from railyard.site.references.load import References
from railyard.site.site import Site
from railyard.site.systems.load import load_system

SITE = """\
system: site
description: A cluster
nodes: {count: 16}
report_only: no figures yet
fabrics:
  edr: {description: EDR, kind: ib, link: ib-edr, rails: [{device: mlx5_0, counters: mlx5}]}
stacks:
  openmpi: {prefix: "{home}/mpi", benchmarks: {osu: "{home}/osu"}}
"""


def make_prefix(folder: Path) -> Path:
    """Return a folder with an MPI library, a program and a text."""
    for name, text in (("lib/libmpi.so.12", "library"), ("bin/mpirun", "program"), ("share/notes.txt", "notes")):
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    (folder / "bin/mpirun").chmod(0o755)
    return folder


def swap_content(file: Path) -> None:
    """Replace a file's content with another one of the same size and the same modification time."""
    before = file.stat()
    file.write_bytes(file.read_bytes()[::-1])
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            "lib/libmpi.so.12",
            marks=pytest.mark.fault(
                "stack",
                "a library of a packaged prefix replaced by another of its size and date",
                "libmpi.so.12: has changed since it was installed (different content of the same 7 bytes)",
            ),
        ),
        pytest.param(
            "bin/mpirun",
            marks=pytest.mark.fault(
                "stack",
                "a program of a packaged prefix replaced by another of its size and date",
                "mpirun: has changed since it was installed (different content of the same 7 bytes)",
            ),
        ),
    ],
)
def test_a_replaced_file_of_a_packaged_stack_ends_the_set_up(
    tmp_path: Path, virtual: Site, name: str, promise: str
) -> None:
    for home in (tmp_path / "healthy", tmp_path / "replaced"):
        prefix = make_prefix(home / ".stacks/mpich")
        kept_files.keep(prefix)
        os.utime(prefix / name)  # a later date alone is no change
        (prefix / "share/notes.txt").write_text("other notes", encoding="utf-8")
    assert find_stack(replace(virtual, home=tmp_path / "healthy"), "mpich").prefix
    swap_content(prefix / name)
    with pytest.raises(SetupError) as caught:
        find_stack(replace(virtual, home=tmp_path / "replaced"), "mpich")
    assert promise in str(caught.value)
    assert str(caught.value).endswith("nobody knows what would be measured: type: railyard stacks install mpich")


def test_a_file_that_is_gone_or_of_another_size_is_said(tmp_path: Path) -> None:
    kept_files.keep(make_prefix(tmp_path))
    assert kept_files.find_changed(tmp_path) is None
    (tmp_path / "lib/libmpi.so.12").write_text("a longer library", encoding="utf-8")
    assert (kept_files.find_changed(tmp_path) or "").endswith(
        "has changed since it was installed (7 bytes then, 16 now)"
    )
    (tmp_path / "lib/libmpi.so.12").unlink()
    assert (kept_files.find_changed(tmp_path) or "").endswith("(no such file or directory)")


def test_a_list_that_cannot_be_read_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / kept_files.FILE).write_text("[]", encoding="utf-8")
    with pytest.raises(SetupError, match="expected a list of files; remove it and install again"):
        kept_files.find_changed(tmp_path)


@pytest.mark.fault("stack", "a library that the site installed replaced between two runs", "libmpi.so.12 has changed")
def test_a_replaced_file_of_the_site_is_said_once(tmp_path: Path, promise: str) -> None:
    library = make_prefix(tmp_path / "mpi") / "lib/libmpi.so.12"
    listed = tmp_path / "listed.json"
    assert kept_files.changed_files(listed, [library]) == ()
    assert kept_files.changed_files(listed, [library]) == ()
    swap_content(library)
    (sentence,) = kept_files.changed_files(listed, [library])
    assert promise in sentence
    assert kept_files.changed_files(listed, [library]) == ()


def test_a_sites_own_stack_is_kept_at_its_first_run(tmp_path: Path) -> None:
    make_prefix(tmp_path / "mpi")
    (tmp_path / "osu").mkdir()
    (tmp_path / "osu/osu_bw").write_text("program", encoding="utf-8")
    (tmp_path / "osu/osu_bw").chmod(0o755)
    (tmp_path / "site.yaml").write_text(SITE, encoding="utf-8")
    system = load_system(tmp_path / "site.yaml")
    assert changed_files(Site(tmp_path, system, References(system)), "openmpi") == ()
    kept = kept_files.read(tmp_path / ".railyard/installed/site-openmpi.json") or ()
    names = [Path(each.path).name for each in kept]
    assert names == ["mpirun", "libmpi.so.12", "osu_bw"]
