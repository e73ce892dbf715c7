"""Words of a library that left RDMA for TCP: they fail a run that is judged by a link of RDMA, and no other run."""

import re
from pathlib import Path

import pytest

from railyard.cli.main import main
from railyard.hardware.links import LINKS
from railyard.parsers.detect import parse
from railyard.parsers.output import ParsedOutput
from railyard.verdict.hints.fallback import FALLBACKS, document, fallbacks, judged_fallbacks, shows_rdma
from railyard.verdict.stored_outputs.judge import judge
from railyard.verdict.stored_outputs.judgement import Judgement
from railyard.verdict.stored_outputs.target import of_link
from railyard.verdict.wording.run_rules import look_at_quoted, say_reported
from tests.conftest import ROOT
from tests.made.words import at_line

HEAD = "# OSU MPI Bandwidth Test v7.4\n# Size      Bandwidth (MB/s)\n"


def osu_bw(message_us: float, top_mb_s: float, smallest: int = 0) -> str:
    """Return a curve t = t0 + n/B; ``smallest`` is a power of two."""
    sizes = (1 << power for power in range(smallest, 23))
    return HEAD + "".join(f"{size:<10}{size / (message_us + size / top_mb_s):>18.2f}\n" for size in sizes)


RDMA = osu_bw(0.3, 12_100)
TCP = osu_bw(6.0, 1_121)
#: Without small messages, figures do not show how they were carried.
LARGE_ONLY = osu_bw(0.3, 12_100, smallest=20)

#: A line of each row -> what it means and what to do.
SURE = {
    "[vn1:01433] mca: bml: Using tcp btl for send to [[2101,1],1] on node vn2": (
        "Open MPI sends to that process over TCP (btl/tcp); ask for the fabric's own way, and it fails if it is not "
        "there: --mca pml ucx, or --mca pml cm --mca mtl ofi"
    ),
    "[1795220129.091716] [vn2:524  :0]      ucp_worker.c:1912 UCX  INFO    ucp_context_0 inter-node cfg#1 "
    "tag(tcp/eth0)  rma(tcp/eth0)": (
        "UCX chose TCP between the nodes (tcp/eth0); ucx_info -d on the node lists the devices; see UCX_TLS and "
        "UCX_NET_DEVICES"
    ),
    "[0] MPI startup(): libfabric provider: tcp;ofi_rxm": (
        "Intel MPI chose the provider tcp;ofi_rxm of Libfabric: TCP; name the provider of the fabric in "
        "I_MPI_OFI_PROVIDER (mlx, verbs, psm3, cxi)"
    ),
    "[0] MPI startup(): libfabric provider: sockets": (
        "Intel MPI chose the provider sockets of Libfabric: TCP; name the provider of the fabric in "
        "I_MPI_OFI_PROVIDER (mlx, verbs, psm3, cxi)"
    ),
    "[0] MPI startup(): shm and tcp data transfer modes": (
        "Intel MPI chose TCP between the nodes; set I_MPI_FABRICS to the fabric, and I_MPI_FALLBACK=0"
    ),
    "vn1:4101:4101 [0] NCCL INFO NET/OFI Selected Provider is tcp;ofi_rxm (found 1 nics)": (
        "NCCL's plugin chose the provider tcp;ofi_rxm of Libfabric: TCP; name the provider of the fabric in "
        "FI_PROVIDER; fi_info lists those that the node has"
    ),
    "libfabric provider: tcp;ofi_rxm - 10.1.0.0/24": (
        "the library chose the provider tcp;ofi_rxm of Libfabric: TCP; name the provider of the fabric in "
        "FI_PROVIDER; fi_info lists those that the node has"
    ),
    "FI provider: tcp;ofi_rxm": (
        "the library chose the provider tcp;ofi_rxm of Libfabric: TCP; name the provider of the fabric in "
        "FI_PROVIDER; fi_info lists those that the node has"
    ),
    "vn1:77:77 [0] NCCL INFO NET/Socket : Using [0]docker0:172.17.0.1<0>": (
        "NCCL found no RDMA device and uses sockets (TCP) over docker0; NET/IB and NET/OFI in the lines above say why "
        "no RDMA device was taken; see NCCL_IB_HCA and NCCL_NET"
    ),
    "vn1:77:77 [0] NCCL INFO Using network Socket": (
        "NCCL uses sockets (TCP); NET/IB and NET/OFI in the lines above say why no RDMA device was taken; see "
        "NCCL_IB_HCA and NCCL_NET"
    ),
}
UCX_FIX = "ucx_info -d on the node lists the devices; see UCX_TLS and UCX_NET_DEVICES"
OFI_FIX = "name the provider of the fabric in FI_PROVIDER; fi_info lists those that the node has"
BTL_FIX = "ask for the fabric's own way: --mca pml ucx, or --mca pml cm --mca mtl ofi"
SURE |= {
    "[1699.2] [vn1:41:0] ucp_worker.c:1855 UCX  INFO  ep_cfg[2]: tag(tcp/eth0) rma(tcp/eth0)": (
        f"UCX chose TCP to another process (tcp/eth0); {UCX_FIX}"
    ),
    "mtl_ofi_component.c:371: mtl:ofi:prov: tcp;ofi_rxm": (
        f"Open MPI chose the provider tcp;ofi_rxm of Libfabric: TCP; {OFI_FIX}"
    ),
}
#: Any run reports this as a failure: the kernel's words for an error are in it.
TIMED_OUT = "hfi_wait_for_device: The /dev/hfi1_0 device failed to appear after 15.0 seconds: Connection timed out"
_NO_PSM3 = (
    "PSM3 found no card that it can use, so the library went on with another provider, mostly TCP; look at the card "
    "with ibstat, and at the limit of locked memory (ulimit -l)"
)
NOT_SURE = {
    "vn1.rank0: PSM2 no hfi units are active (err=23)": (
        "PSM2 found no Omni-Path card that is up, so the library went on over another network, mostly TCP; look at "
        "hfi1_0 with opainfo or ibstat"
    ),
    "vn1.2101PSM2 can't open hfi unit: -1 (err=23)": (
        "PSM2 found no Omni-Path card that is up, so the library went on over another network, mostly TCP; look at "
        "hfi1_0 with opainfo or ibstat"
    ),
    "vn1:pid2101.osu_bw: PSM3 no nic units are active (err=23)": _NO_PSM3,
    "vn1:pid2101: PSM3 can't open nic unit: -1 (err=23)": _NO_PSM3,
    TIMED_OUT: (
        "PSM2 waited in vain for the Omni-Path card, so the library went on over another network, mostly TCP; is the "
        "driver hfi1 loaded, and is the port up?"
    ),
    "but there are no active ports detected (or Open MPI was unable to use": (
        "Open MPI found an RDMA device but no port of it that is up, and left it out of the job; look at cable, subnet "
        "manager and ibstat of the node"
    ),
    "No OpenFabrics connection schemes reported that they were able to be": (
        "Open MPI's own driver (btl/openib) could not use a port of the RDMA device; without UCX the job runs over "
        "TCP; ask for UCX: --mca pml ucx --mca btl ^openib"
    ),
    "[vn1:06399] btl: tcp: attempting to connect() to [[2101,1],1] address 10.1.0.2 on port 1024": (
        "Open MPI connects to another process over TCP (btl/tcp); ask for the fabric's own way, and it fails if it is "
        "not there: --mca pml ucx, or --mca pml cm --mca mtl ofi"
    ),
    "WARNING: There was an error initializing an OpenFabrics device.": (
        "Open MPI could not use the RDMA device with its own driver (btl/openib); without UCX the job runs over TCP; "
        "ask for UCX: --mca pml ucx --mca btl ^openib"
    ),
    "[1795446873.635521] [vn1:17594:0] ucp_context.c:1381 UCX  WARN  network device 'mlx5_7:1' is not available, "
    "please use one or more of: 'eth0'(tcp), 'lo'(tcp)": (
        "UCX_NET_DEVICES names mlx5_7:1, which that node does not have, so UCX may use TCP; ucx_info -d on the node "
        "lists the devices; see UCX_TLS and UCX_NET_DEVICES"
    ),
    "[1795446873.635521] [vn1:17594:0] ucp_context.c:1381 UCX  WARN  transports 'rc_mlx5','ud_mlx5' are not available, "
    "please use one or more of: cma, mm, posix, self, shm, sm, sysv, tcp": (
        "this UCX finds no transport of RDMA on that node ('rc_mlx5','ud_mlx5'), so it may use TCP; ucx_info -d on the "
        "node lists the devices; see UCX_TLS and UCX_NET_DEVICES"
    ),
    "libfabric:2101:1795446873:core:core:fi_getinfo_():1352<info> Found provider with the highest priority tcp, "
    "must_use_util_prov = 0": (
        "of the providers of Libfabric that fit, tcp came first: TCP; name the provider of the fabric in FI_PROVIDER; "
        "fi_info lists those that the node has"
    ),
    "provider: tcp;ofi_rxm, score = 5, pref = 0, FI_FORMAT_UNSPEC [32]": (
        "only a provider of TCP is named here (tcp;ofi_rxm); name the provider of the fabric in FI_PROVIDER; fi_info "
        "lists those that the node has"
    ),
}
_BTL = f"no network but TCP was allowed to Open MPI's btl; {BTL_FIX}"
_TLS = "only TCP was allowed to UCX"
_ASKED = "of Libfabric was requested: TCP"
NOT_SURE |= {
    "export UCX_TLS=tcp,self": f"{_TLS} (tcp,self); {UCX_FIX}",
    "[u@vn1 ~]$ mpirun -np 2 -x UCX_TLS=self,sm,tcp ./osu_bw": f"{_TLS} (self,sm,tcp); {UCX_FIX}",
    "$ mpiexec -genv UCX_TLS tcp -n 2 ./osu_bw": f"{_TLS} (tcp); {UCX_FIX}",
    "+ UCX_NET_DEVICES=ens5 mpirun -np 2 osu_bw": (
        f"UCX was limited to ens5, the name of a network interface for TCP; {UCX_FIX}"
    ),
    "$ mpirun -x UCX_NET_DEVICES=ib0 -np 2 osu_bw": (
        f"UCX was limited to ib0, the name of a network interface for TCP; {UCX_FIX}"
    ),
    "export UCX_NET_DEVICES=hsn0": f"UCX was limited to hsn0, the name of a network interface for TCP; {UCX_FIX}",
    "[1699.2] [vn1:41:0]   |   0..8184 | short    | tcp/eth0 |": f"UCX moves messages over TCP (tcp/eth0); {UCX_FIX}",
    "+ mpirun --mca btl tcp,self --mca pml ob1 -np 2 osu_bw": _BTL,
    "$ mpirun -np 2 -H vn1,vn2 osu_bw -mca btl vader,self,tcp": _BTL,
    "OMPI_MCA_btl=tcp,self": _BTL,
    "I_MPI_FABRICS=shm:tcp": (
        "TCP was requested of Intel MPI (shm:tcp); set I_MPI_FABRICS to the fabric (shm:ofi, before 2019 shm:dapl or "
        "shm:ofa)"
    ),
    "+ export FI_PROVIDER=tcp": f"the provider tcp {_ASKED}; {OFI_FIX}",
    "[root@vn1 ~]# FI_PROVIDER='tcp;ofi_rxm' srun -n2 osu_bw": f"the provider tcp;ofi_rxm {_ASKED}; {OFI_FIX}",
    "$ mpirun -genv I_MPI_OFI_PROVIDER sockets -n 2 osu_bw": f"the provider sockets {_ASKED}; {OFI_FIX}",
    "$ srun --export=ALL,FI_PROVIDER=tcp -n2 osu_bw": f"the provider tcp {_ASKED}; {OFI_FIX}",
    "$ mpirun --mca pml cm --mca mtl_ofi_provider_include tcp osu_bw": f"the provider tcp {_ASKED}; {OFI_FIX}",
    "$ fi_pingpong -p tcp vn2": f"the provider tcp {_ASKED}; {OFI_FIX}",
}


def judge_text(text: str, link: str = "ib-edr") -> Judgement:
    (one,) = judge(parse(text), of_link(link), text=text)
    return one


@pytest.mark.parametrize("line", SURE)
def test_the_word_that_tcp_carries_the_run_fails_it_whatever_the_figures_are(line: str) -> None:
    found = judge_text(f"{line}\n{RDMA}")
    assert (found.state, found.rules[0].fault) == ("fail", "set-up")
    assert found.sentence.startswith(f"rule 1 (complete): {say_reported(1, '')}, {at_line(1)}")
    assert f"({SURE[line]})" in found.sentence


@pytest.mark.parametrize("line", NOT_SURE)
def test_a_device_that_could_not_be_used_fails_a_run_whose_figures_may_be_of_tcp(line: str) -> None:
    for table in (TCP, LARGE_ONLY):
        found = judge_text(f"{line}\n{table}")
        assert (found.state, found.rules[0].fault) == ("fail", "set-up")
        assert f"({NOT_SURE[line]})" in found.sentence


#: With these, the library that reads them has no way but TCP.
LEAVES_TCP = [line for line in NOT_SURE if re.search(r"UCX_TLS|FI_PROVIDER|I_MPI_|provider_include|-p tcp", line)]


@pytest.mark.parametrize("line", LEAVES_TCP)
def test_figures_that_tcp_cannot_reach_are_not_judged_beside_a_setting_that_leaves_tcp(line: str) -> None:
    found = judge_text(f"{line}\n{RDMA}")
    assert found.state == "not-judged"
    assert found.sentence.startswith('not judged: line 1 says "')
    assert "but small messages are faster than TCP between two nodes can be" in found.sentence
    assert judge_text(f"{line}\n{TCP}").state == "fail"
    assert judge_text(f"{line}\n{RDMA.replace('120', '20')}").state == "fail"  # what is bad stays bad


@pytest.mark.parametrize("line", [line for line in NOT_SURE if line != TIMED_OUT and line not in LEAVES_TCP])
def test_figures_that_tcp_cannot_reach_speak_against_a_device_that_could_not_be_used(line: str) -> None:
    found = judge_text(f"{line}\n{RDMA}")
    assert found.state == "pass"
    (remark,) = (each for each in found.remarks if each.startswith("line 1"))
    assert remark.endswith('": small messages are faster than TCP can be, so it was RDMA')


@pytest.mark.parametrize("line", [line for line in (*SURE, *NOT_SURE) if line != TIMED_OUT])
def test_on_a_network_that_carries_tcp_nothing_is_a_fallback(line: str) -> None:
    found = judge(parse(f"{line}\n{TCP}"), of_link("eth-10"), text=f"{line}\n{TCP}")
    assert [each.state for each in found] == ["pass"]
    assert judged_fallbacks(LINKS["eth-10"], line, (), ()) == ((), ())


@pytest.mark.parametrize("link", ["ib-ndr", "roce-100", "opa-100", "slingshot-11", "efa-100"])
def test_it_is_a_fallback_from_every_network_with_rdma(link: str) -> None:
    failures, _ = judged_fallbacks(LINKS[link], "[0] MPI startup(): libfabric provider: tcp", (), ())
    assert [failure.line for failure in failures] == [1]


@pytest.mark.parametrize(
    "text",
    [
        "provider: verbs;ofi_rxm\n    fabric: IB-0xfe80000000000000\nprovider: tcp;ofi_rxm\n    fabric: 10.1.0.0/24\n",
        "fi_getinfo_():1352<info> Found provider with the highest priority cxi, must_use_util_prov = 0\n"
        "fi_getinfo_():1352<info> Found provider with the highest priority tcp, must_use_util_prov = 0\n",
        "vn1:77:77 [0] NCCL INFO NET/Socket : Using [0]eth0:10.1.0.1<0>\nvn1:77:90 [0] NCCL INFO Using network IB\n",
        "vn1:77:77 [0] NCCL INFO Bootstrap : Using eth0:10.1.0.1<0>\n",
        "[0] MPI startup(): libfabric provider: verbs;ofi_rxm\n",
        "ucp_context_0 inter-node cfg#1 tag(rc_mlx5/mlx5_0:1 tcp/eth0)\n",
        "ucp_context_0 intra-node cfg#1 tag(tcp/eth0)\n",
        "[vn1:01433] mca: bml: Using openib btl for send to [[2101,1],1] on node vn2\n",
        "ep_cfg[1]: tag(tcp/eth0)\nep_cfg[2]: tag(rc_mlx5/mlx5_0:1) rma(rc_mlx5/mlx5_0:1)\n",
        "| 0..2038 | short | tcp/eth0 |\n| 0..2038 | short | rc_mlx5/mlx5_0:1/path0 |\n",
        "export UCX_TLS=rc,tcp,self\n",
        "export UCX_TLS=^tcp\n",
        "export UCX_NET_DEVICES=mlx5_0:1,ens5\n",
        "export UCX_NET_DEVICES=ibp65s0:1\n",
        "UCX  WARN  transport 'rc_x' is not available, please use one or more of: ib, rc, rc_mlx5, self, sm, tcp\n",
        "UCX  WARN  transport 'tcp' is not available, please use one or more of: cma, self, shm, sm, sysv\n",
        "No OpenFabrics connection schemes reported that they\n[1.2] [vn1:4:0] ucp.c:1 UCX  WARN  unused variable\n",
        "mtl_ofi_component.c:371: mtl:ofi:prov: efa\n",
        "$ mpirun --mca pml ucx --mca btl tcp,self -np 2 osu_bw\n",
        "$ mpirun --mca btl openib,tcp,self -np 2 osu_bw\n",
        "$ mpirun --mca btl ^tcp -np 2 osu_bw\n",
        "$ mpirun --mca btl_tcp_if_include eth0 -np 2 osu_bw\n",
        "export FI_PROVIDER=tcp\nexport FI_PROVIDER=efa\n",
        "# export FI_PROVIDER=tcp\n",
        "if nothing else works, try FI_PROVIDER=tcp instead\n",
        "export I_MPI_FABRICS=shm:ofi\n",
        "$ fi_pingpong -p verbs vn2\n",
    ],
)
def test_a_line_about_another_transport_is_no_fallback(text: str) -> None:
    assert fallbacks(text) == ()


def test_a_run_that_failed_keeps_its_own_cause_first() -> None:
    text = f"[0] MPI startup(): libfabric provider: tcp;ofi_rxm\n{RDMA}Abort(1) on node 1 (rank 1 in comm 0): Fatal\n"
    found = judge_text(text)
    assert f"{say_reported(2, '')}, {at_line(27)}Abort(1) on node 1" in found.sentence


@pytest.mark.parametrize(
    "line",
    ["but there are no active ports detected (or Open MPI was unable to use", "vn1: no active ports detected"],
)
def test_the_words_alone_are_a_failure(line: str) -> None:
    failures, _ = judged_fallbacks(LINKS["ib-hdr"], f"\n{line}\n", ParsedOutput().tables, ())
    assert [(each.line, each.text) for each in failures] == [(2, line)]


def test_a_sum_of_many_pairs_over_tcp_does_not_look_like_rdma() -> None:
    text = f"# OSU MPI Multiple Bandwidth / Message Rate Test v7.4\n# [ pairs: 16 ] [ window size: 64 ]\n# {HEAD[2:6]}"
    text = text.rpartition("\n")[0] + "\n# Size                  MB/s        Messages/s\n"
    text += "".join(f"{1 << n:<10}{16 * (1 << n) / 6:>20.2f}{16e6 / 6:>20.2f}\n" for n in range(4))
    (table,) = parse(text).tables
    assert not shows_rdma(table)


def test_the_command_says_it_word_for_word(tmp_path, capsys) -> None:  # type: ignore[no-untyped-def]
    file = tmp_path / "osu_bw.out"
    file.write_text(f"[0] MPI startup(): libfabric provider: tcp;ofi_rxm\n{RDMA}", encoding="utf-8")
    assert main(["judge", str(file), "--link", "ib-edr"]) == 1
    assert (
        "  FAIL  Intel MPI chose the provider tcp;ofi_rxm of Libfabric: TCP\n"
        f'  found: {say_reported(1, "")}, {at_line(1)}[0] MPI startup(): libfabric provider: tcp;ofi_rxm" '
        "(Intel MPI chose the provider tcp;ofi_rxm of Libfabric: TCP; name the provider of the fabric in "
        "I_MPI_OFI_PROVIDER (mlx, verbs, psm3, cxi))\n"
        f"  look at: {look_at_quoted()}\n"
    ) in capsys.readouterr().out


def test_without_a_named_link_a_fallback_is_said_before_any_guess(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "osu_bw.out"
    text = osu_bw(12.0, 920)
    file.write_text(text, encoding="utf-8")
    assert main(["judge", str(file)]) == 1
    assert "is a rate of ib-sdr" in capsys.readouterr().out
    file.write_text(f"[0] MPI startup(): libfabric provider: tcp;ofi_rxm\n{text}", encoding="utf-8")
    assert main(["judge", str(file)]) == 1
    said = capsys.readouterr().out
    assert 'NOT JUDGED  line 1 says "[0] MPI startup(): libfabric provider: tcp;ofi_rxm": Intel MPI' in said
    assert "if its network has RDMA, the run did not use it" in said
    assert "is a rate of" not in said


def test_without_a_named_link_figures_of_rdma_speak_against_an_unsure_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "osu_bw.out"
    file.write_text(f"provider: tcp;ofi_rxm\n{RDMA}", encoding="utf-8")
    main(["judge", str(file)])
    assert "line 1 says" not in capsys.readouterr().out


def test_every_row_has_a_line_here() -> None:
    for row in FALLBACKS:
        assert any(re.match(row.pattern, line) for line in (*SURE, *NOT_SURE)), row.words
        assert any(re.match(row.pattern, line) for line in (SURE if row.is_sure else NOT_SURE)), row.words


def test_the_page_has_the_table() -> None:
    assert f"\n\n{document()}\n" in (ROOT / "docs" / "reference" / "verdicts.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("export UCX_TLS=tcp,self\nunset UCX_TLS\nmpirun -np 2 ./osu_bw", "pass"),
        ("export UCX_TLS=tcp,self\n\nmodule load ucx\nexport UCX_TLS=\nmpirun -np 2 ./osu_bw", "pass"),
        ("export FI_PROVIDER=tcp\nunset OMP_NUM_THREADS FI_PROVIDER\nmpirun -np 2 ./osu_bw", "pass"),
        ("export UCX_TLS=tcp,self\nmpirun -np 2 ./osu_bw\nunset UCX_TLS", "fail"),
        ("export UCX_TLS=tcp,self\n./measure\nunset UCX_TLS", "fail"),
        ("export UCX_TLS=tcp,self\nunset UCX_TLS\nexport UCX_TLS=tcp,self\nmpirun -np 2 ./osu_bw", "fail"),
        ("export UCX_TLS=tcp,self\n# unset UCX_TLS\nmpirun -np 2 ./osu_bw", "fail"),
        ("export UCX_TLS=tcp,self\nexport A=1 # or unset UCX_TLS\nmpirun -np 2 ./osu_bw", "fail"),
        ("export UCX_TLS=tcp,self\nunset FI_PROVIDER\nmpirun -np 2 ./osu_bw", "fail"),
    ],
)
def test_a_setting_that_is_removed_before_the_launch_says_nothing(script: str, expected: str) -> None:
    text = f"{script}\n{LARGE_ONLY}"
    (found,) = judge(parse(text), of_link("ib-edr"), text=text)
    assert found.state == expected
