"""An MPI that the table lacks: it is declared in a system's file, checked as the table's own, and marked."""

from pathlib import Path
from typing import get_args

import pytest

from railyard.base.errors import InputError
from railyard.job.mpi_identity import IntendedMpi, why_other, why_other_launcher
from railyard.site.systems.load import load_system, load_systems
from railyard.site.systems.model import System
from railyard.site.systems.node_view import Kind
from railyard.site.systems.stack_entry import PolicyName
from railyard.stacks import ask, model

FABRIC = "  ib: {description: two cards, kind: ib, link: ib-edr, rails: [{device: mlx5_0, port: 1, counters: mlx5}]}\n"
HEAD = (
    "system: NAME\ndescription: made for this test\nscheduler: slurm\nlauncher: srun\nnodes: {count: 2}\n"
    f"report_only: made for this test\nfabrics:\n{FABRIC}stacks:\n"
)
SITE_MPI = """\
  sitempi:
    like: mpich
    prefix: /opt/sitempi
    differs:
      title: Site MPI
      source: the site's own manual, page 7
      version_words: "^Site MPI Version"
      sonames: [libmpi.so.99]
      launcher: {program: siterun, forward: [--export, "{name}={value}"]}
      fabrics:
        ib:
          settings: {SITE_CARDS: "{ports}", UCX_TLS: null}
          policies:
            striping: {settings: {SITE_RAILS: "{rails}", UCX_MAX_RNDV_RAILS: null}, says: from 64 KiB, from_bytes: 64K}
          cannot: {nic-per-rank: it has no setting for it}
          log: {settings: {SITE_DEBUG: "1"}, pattern: "SITE uses {device}", says: each rank prints its card}
        opa:
          settings: {SITE_CARDS: "{units}"}
          policies: {single: {says: one card}}
          cannot: {striping: not described there, round-robin: not described there, nic-per-rank: not described there}
          log: silent
"""


def read(folder: Path, stacks: str = SITE_MPI, name: str = "made") -> System:
    (folder / "systems").mkdir(exist_ok=True)
    path = folder / f"systems/{name}.yaml"
    path.write_text(HEAD.replace("NAME", name) + stacks, encoding="utf-8")
    return load_system(path)


def test_kinds_and_policies_are_the_tables() -> None:
    assert get_args(Kind) == model.KINDS
    assert get_args(PolicyName) == model.POLICIES


def test_it_is_an_entry_of_the_table_with_what_differs(tmp_path: Path) -> None:
    read(tmp_path)
    one = ask.settings("sitempi", "ib", ["mlx5_0:1"], 1)
    assert (one.env["SITE_CARDS"], one.env["UCX_NET_DEVICES"]) == ("mlx5_0:1", "mlx5_0:1")
    assert "UCX_TLS" not in one.env and one.env["MPIR_CVAR_CH4_NETMOD"] == "ucx"
    two = ask.settings("sitempi", "ib", ["mlx5_0", "mlx5_1"], 2)
    assert (two.policy, two.env["SITE_RAILS"], two.threshold_bytes) == ("striping", "2", 65536)
    assert "UCX_MAX_RNDV_RAILS" not in two.env
    assert two.proof.env == {"SITE_DEBUG": "1"} and two.proof.patterns == ("SITE uses mlx5_0", "SITE uses mlx5_1")
    assert ask.why_not("sitempi", "ib", 2, "nic-per-rank") == "sitempi on ib: it has no setting for it."
    assert ask.forward("sitempi", {"A": "1"}) == ["--export", "A=1"]
    stack = model.STACKS["sitempi"]
    assert (stack.launch.program, stack.sonames, stack.srun_mpi) == ("siterun", ("libmpi.so.99",), "pmi2")


def test_a_fabric_that_the_other_cannot_use_is_declared_whole_and_its_log_proves_nothing(tmp_path: Path) -> None:
    read(tmp_path, SITE_MPI.replace("like: mpich", "like: hpcx"))
    assert isinstance(model.OWN["hpcx"].ways["opa"], str)
    found = ask.settings("sitempi", "opa", ["hfi1_0"], 1)
    assert found.env == {"SITE_CARDS": "0"}
    assert ask.device_patterns("sitempi", "opa", "single", ["hfi1_0"]) == {}
    assert found.proof.missing_patterns("hfi1_0 is used") == found.proof.patterns


def test_its_own_words_and_those_of_the_one_that_it_is_like_are_no_other_mpi(tmp_path: Path) -> None:
    read(tmp_path)
    meant = IntendedMpi("sitempi", None)
    assert why_other("Site MPI Version: 3.1\nMPICH Version: 4.3\n", meant) is None
    other = why_other("Open MPI v4.1.4\n", meant)
    assert other is not None and (other.ran, other.expected) == ("Open MPI", "Site MPI")
    found = why_other("Site MPI Version: 3.1\n", IntendedMpi("mpich", None))
    assert found is not None and (found.ran, found.expected) == ("Site MPI", "MPICH (CH4)")
    assert why_other_launcher("/usr/bin/mpirun\nmpirun (Open MPI) 4.1.4\n", "sitempi", None) is not None


def test_a_record_says_that_it_was_declared(tmp_path: Path) -> None:
    system = read(tmp_path, f"{SITE_MPI}  mpich: {{prefix: /opt/mpich}}\n")
    said = "Site MPI, declared by the system's file, like mpich (the site's own manual, page 7)"
    assert (system.declared_words("sitempi"), system.declared_words("mpich")) == (said, None)


def test_two_files_may_declare_the_same_one_and_not_two_of_one_name(tmp_path: Path) -> None:
    read(tmp_path, name="one")
    read(tmp_path, name="two")
    assert sorted(load_systems(tmp_path / "systems")) == ["one", "two"]
    with pytest.raises(InputError) as raised:
        read(tmp_path, SITE_MPI.replace("page 7", "page 8"), "two")
    assert str(raised.value) == (
        "systems/two.yaml:10: stacks.sitempi: found another sitempi than in a file read before, expected one MPI of "
        "this name; rename one"
    )


REFUSED = [
    (
        ("like: mpich", "like: mpch"),
        'stacks.sitempi.like: found "mpch", expected an MPI of the table; did you mean "mpich"?',
    ),
    (("like: mpich", "like: nccl"), 'stacks.sitempi.like: found "nccl", expected an MPI of the table'),
    (("    like: mpich\n", ""), "stacks.sitempi.differs: found differs without like, expected like beside it"),
    (
        ("  sitempi:", "  openmpi:"),
        'stacks.openmpi: found "openmpi", expected a name that the table lacks, of small letters, digits and _; give '
        "it another name",
    ),
    (("{ports}", "{prots}"), "stacks.sitempi.differs: found SITE_CARDS: unknown blanks ['prots'], expected"),
    (("{name}={value}", "{nmae}"), "stacks.sitempi.differs: found siterun: unknown blanks ['nmae'], expected"),
    (
        ("SITE_RAILS", "SITE_CARDS"),
        "stacks.sitempi.differs: found fabrics.ib: SITE_CARDS is set for all and in striping",
    ),
    (
        ("nic-per-rank: it has", "striping: it has"),
        "stacks.sitempi.differs: found fabrics.ib: striping is in policies and in cannot, expected",
    ),
    (("        opa:", "        tofu:"), 'stacks.sitempi.differs.fabrics.tofu: found "tofu"'),
    (
        ("libmpi.so.99", "libsite.so"),
        'stacks.sitempi.differs.sonames[0]: found "libsite.so", expected the name of an MPI',
    ),
    (("          log: silent\n", ""), None),
]


@pytest.mark.parametrize(("change", "sentence"), REFUSED)
def test_what_the_table_refuses_is_refused_with_its_place(
    tmp_path: Path, change: tuple[str, str], sentence: str | None
) -> None:
    text = (
        SITE_MPI.replace("like: mpich", "like: hpcx").replace(*change)
        if sentence is None
        else SITE_MPI.replace(*change)
    )
    with pytest.raises(InputError) as raised:
        read(tmp_path, text)
    sentence = sentence or "stacks.sitempi.differs: found fabrics.opa: the stack that it is like cannot use opa, so"
    assert str(raised.value).startswith("systems/made.yaml:") and sentence in str(raised.value), str(raised.value)
