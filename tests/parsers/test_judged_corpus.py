"""Genuine outputs, judged: a run on the right fabric passes, and one on the wrong fabric fails by name."""

from pathlib import Path

import pytest

from railyard.base.errors import RailyardError
from railyard.base.wording import IMPOSSIBLE
from railyard.cli.commands.judge import read
from railyard.cli.main import main
from railyard.parsers import wrf
from railyard.site.site import site_at
from railyard.verdict.stored_outputs.judge import judge
from railyard.verdict.stored_outputs.judgement import Judgement
from railyard.verdict.stored_outputs.system_target import of_system
from railyard.verdict.stored_outputs.target import Nodes, of_link
from railyard.verdict.wording.causes import latency_of_tcp
from railyard.verdict.wording.reference import nodes_unknown

ROOT = Path(__file__).resolve().parents[2]

GOOD = [
    "mpich41_bw_cxi_hook_v62",
    "mpich_bibw_H_inter_v75_validation",
    "mpich_bw_DD_inter_v75_plain",
    "mpich_bw_D_inter_v75_validation",
    "mpich_bw_HH_inter_v75_plain",
    "mpich_bw_H_inter_v75_validation",
    "mpich_latency_H_inter_v75_validation",
    "ompi_bibw_H_inter_v75_validation",
    "ompi_bw_D_inter_v75_validation",
    "ompi_bw_H_inter_v75_validation",
    "ompi_latency_H_inter_v75_validation",
    "ss11_v75_bw",
]
BAD = [
    "mpich41_bw_no_cxi_hook_v62",
    "mpich_bw_D_inter_nocxi_v75_validation",
    "mpich_bw_H_inter_nocxi_v75_validation",
    "ompi_bw_H_inter_nocxi_v75_validation",
    "ompi_latency_H_inter_nocxi_v75_validation",
]
#: Collectives: a link has no floor for them, so neither the good nor the bad one gets a verdict, and Railyard says so.
WITHOUT = [
    "mpich_alltoall_D_multi_nocxi_v75_validation",
    "mpich_alltoall_D_multi_v75_validation",
    "ompi_alltoall_D_multi_nocxi_v75_validation",
    "ompi_alltoall_H_multi_nocxi_v75_validation",
    "ompi_alltoall_H_multi_v75_validation",
]


def judge_file(file: Path, link: str, **options: int | str) -> tuple[Judgement, ...]:
    node_pairs = options.pop("node_pairs", 1)
    assert isinstance(node_pairs, int)
    return judge(read(str(file)), of_link(link, **options), nodes=Nodes(node_pairs))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", GOOD)
def test_a_run_over_slingshot_passes(corpus: Path, name: str) -> None:
    (found,) = judge_file(corpus / "osu" / f"cscs_alps_{name}.txt", "slingshot-11")
    assert (found.state, found.causes) == ("pass", ())


@pytest.mark.parametrize("name", BAD)
def test_the_same_run_without_it_fails_and_looks_like_tcp(corpus: Path, name: str) -> None:
    (found,) = judge_file(corpus / "osu" / f"cscs_alps_{name}.txt", "slingshot-11")
    assert found.state == "fail"
    assert found.sentence.startswith("rule 5 (reference): ")
    assert [cause.cause for cause in found.causes] == ["tcp"]


@pytest.mark.parametrize("name", WITHOUT)
def test_a_collective_gets_no_verdict_from_a_link_and_that_is_said(corpus: Path, name: str) -> None:
    (found,) = judge_file(corpus / "osu" / f"cscs_alps_{name}.txt", "slingshot-11")
    assert found.state == "not-judged"
    assert found.reason == nodes_unknown(["--nodes", "--ranks-per-node"])
    assert not found.is_pass


def test_both_ways_at_once_between_gpus_are_judged_by_their_own_class(corpus: Path) -> None:
    (found,) = judge_file(corpus / "osu" / "cscs_alps_ompi_bibw_D_inter_v75_validation.txt", "slingshot-11")
    assert (found.state, found.causes) == ("pass", ())
    assert found.sentence.endswith("(bounded: 23 of 23 sizes, 1 B to 4 MiB)")


@pytest.mark.parametrize(
    ("file", "link", "latency_us"),
    [
        ("osu/mail2012_v20_no_rdma_fallback_tcp.txt", "ib-qdr", 45.86),
        ("netpipe/mail2011_npmpi_btl_verbose_tcp_fallback_killed.txt", "ib-ddr", 52.74),
    ],
)
def test_a_fall_back_to_tcp_is_named(corpus: Path, file: str, link: str, latency_us: float) -> None:
    (found,) = judge_file(corpus / file, link)
    assert found.failure is not None and (found.state, found.failure.rule) == ("fail", 1)
    assert [one.looks for one in found.causes] == [latency_of_tcp(latency_us)]


@pytest.mark.parametrize(
    "file",
    [
        "npb/npbmz331_sp_mx_ifort_641_impi_fallback_tcp.txt",
        "npb/npbmz331_lu_mx_gfortran_431_no_pml.txt",
        "ibdiag/ibportstate_fdr_query.txt",
    ],
)
def test_the_other_outputs_of_a_wrong_fabric_get_no_pass_and_a_sentence(
    corpus: Path, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["judge", str(corpus / file), "--link", "myri-10g"])
    said = capsys.readouterr()
    assert code in (1, 2)
    assert "Traceback" not in said.err
    assert said.err.startswith("railyard: ") if code == 2 else said.out.splitlines()[-1].split(":")[0] != "pass"


@pytest.mark.parametrize(
    ("file", "fabric", "state", "cause"),
    [
        ("osu/alaska_edr_ompi4_bw.txt", "edr", "pass", []),
        ("osu/csd3_ib100_ompi3_bw.txt", "edr", "pass", []),
        ("osu/cofc_edr_gpuv100002_bibw.txt", "edr", "pass", []),
        ("osu/alaska_edr_ompi4_bw.txt", "fdr", "fail", ["one-node"]),
        ("osu/alaska_edr_impi_bw.txt", "edr", "fail", []),
        ("osu/alaska_edr_ompi4_latency.txt", "edr", "fail", []),
        ("osu/alaska_edr_ompi4_alltoall.txt", "edr", "fail", []),
    ],
)
def test_other_systems_outputs_against_the_published_one(
    corpus: Path, file: str, fabric: str, state: str, cause: list[str]
) -> None:
    (found,) = judge(read(str(corpus / file)), of_system(site_at(ROOT, "dell-c6320"), fabric, "hpcx"))
    assert (found.state, [one.cause for one in found.causes]) == (state, cause)


def test_a_collapse_at_the_largest_sizes_is_named(corpus: Path) -> None:
    (found,) = judge_file(corpus / "osu" / "study_azure_aks_hdr_bw_collapse.txt", "ib-hdr")
    (cause,) = found.causes
    assert cause.cause == "cache" and "23265 MB/s at 1 MiB" in cause.sentence


def test_the_pairs_of_nodes_of_a_multi_pair_run_must_be_said(corpus: Path) -> None:
    file = corpus / "osu" / "hpe_ss10_mbw_mr_620pairs.txt"
    (alone,) = judge_file(file, "slingshot-10")
    assert [one.cause for one in alone.causes] == ["one-node"]
    assert alone.sentence.startswith(f"rule 3 (possible): {IMPOSSIBLE}bandwidth 22663 MB/s at ")
    (shared,) = judge_file(file, "slingshot-10", node_pairs=32)
    assert "impossible" not in shared.sentence


def test_no_output_gives_a_traceback(corpus: Path) -> None:
    targets = (of_system(site_at(ROOT, "dell-c6320"), "edr", "hpcx"), of_link("ib-edr", "pcie3-x16"))
    files = sorted(path for path in corpus.glob("*/*.txt") if path.stat().st_size < 2**17)
    assert len(files) > 150
    judgements = 0
    for file in files:
        try:
            parsed = read(str(file))
            found = [one for target in targets for one in judge(parsed, target)]
        except RailyardError:
            continue
        judgements += len(found)
        assert found and all(one.sentence for one in found), file.name
    assert judgements > 400


@pytest.mark.parametrize(
    ("file", "fabric", "nodes", "state"),
    [
        ("csd3_ib_conus12km_56r_rsl_error.txt", "ib", "/1-nodes", "pass"),
        ("csd3_ib_conus12km_112r_rsl_error.txt", "ib", "/2-nodes", "pass"),
        ("csd3_ib_conus12km_1792r_rsl_error.txt", "ib", "/32-nodes", "pass"),
        ("csd3_ib_conus12km_3136r_rsl_error.txt", "ib", "", "pass"),
        ("csd3_roce_conus12km_1792r_rsl_error.txt", "roce", "/32-nodes", "pass"),
        # RoCE's steps on 32 nodes take 1.3 times as long as InfiniBand's, and one node's are not those of two nodes
        ("csd3_roce_conus12km_1792r_rsl_error.txt", "ib", "/32-nodes", "fail"),
        ("csd3_ib_conus12km_56r_rsl_error.txt", "ib", "/2-nodes", "fail"),
    ],
)
def test_rsl_files_of_wrf_are_held_against_their_own_number_of_nodes(
    corpus: Path, file: str, fabric: str, nodes: str, state: str
) -> None:
    target = of_system(site_at(ROOT, "csd3-2020"), fabric, stack="intelmpi")
    (found,) = judge(read(str(corpus / "wrf" / file)), target, benchmark=f"wrf/wrf/conus12km-v3{nodes}")
    assert found.state == state, found.sentence
    if state == "pass":  # the published number is this file's own
        assert found.curves[0].percent_of_reference == pytest.approx(100, abs=0.1)


def test_a_reference_of_wrf_3_never_judges_version_4(corpus: Path) -> None:
    text = (corpus / "wrf" / "csd3_ib_conus12km_56r_rsl_error.txt").read_text(encoding="utf-8", errors="replace")
    target = of_system(site_at(ROOT, "csd3-2020"), "ib", stack="intelmpi")
    (found,) = judge(
        wrf.parse(text.replace("WRF V3.8.1 MODEL", "WRF V4.4 MODEL")), target, benchmark="wrf/wrf/conus12km-v3/1-nodes"
    )
    assert found.state == "fail"
    assert "conus12km-v3 ran with WRF 4.4, expected up to 3.9: other releases have another case's inputs" in (
        found.sentence
    )


def test_a_run_of_hpl_is_held_against_its_cluster(corpus: Path) -> None:
    file = corpus / "hpl" / "alaska_intel_all_nodes.txt"
    target = of_system(site_at(ROOT, "alaska-2020"), "ib", stack="intelmpi")
    (found,) = judge(read(str(file)), target)
    assert (found.benchmark, found.state) == ("hpl/hpl", "pass")
