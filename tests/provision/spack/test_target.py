"""The job itself finds a node that cannot run the build, before the benchmark starts."""

import subprocess
from pathlib import Path

import pytest

from railyard.hardware import node
from railyard.provision.kept_files import KeptFile
from railyard.provision.spack import sources
from railyard.provision.spack.marker import Executable

#: What an x86_64_v3 processor prints (synthetic, with the flags that matter).
V3 = (
    "processor\t: 0\n"
    "flags\t\t: fpu mmx sse sse2 pni ssse3 sse4_1 sse4_2 cx16 lahf_lm popcnt abm avx avx2 bmi1 bmi2 f16c fma "
    "movbe xsave\n"
)


def test_features_are_those_that_cpuinfo_prints() -> None:
    assert node.features("x86_64_v3") == (
        "abm", "avx", "avx2", "bmi1", "bmi2", "cx16", "f16c", "fma", "lahf_lm", "mmx", "movbe",
        "pni", "popcnt", "sse", "sse2", "sse4_1", "sse4_2", "ssse3", "xsave",
    )  # fmt: skip


@pytest.mark.parametrize("name", ["x86_64", "aarch64", "no_such_target"])
def test_what_adds_nothing_to_its_family_asks_for_nothing(name: str) -> None:
    assert node.features(name) == ()


def test_a_node_without_avx512_cannot_run_v4() -> None:
    assert sources.why_not("x86_64_v3", V3) is None
    assert sources.why_not("x86_64_v4", V3) == (
        "the benchmarks are built for x86_64_v4, and this node's processor lacks avx512bw, avx512cd, avx512dq, "
        "avx512f, avx512vl"
    )


#: What a Grace processor prints (synthetic; the features are archspec's, which Linux prints by the same names).
GRACE = f"processor\t: 0\nFeatures\t: {' '.join(node.features('neoverse_v2'))}\nCPU part\t: 0xd4f\n"


def test_a_node_of_arm_is_asked_for_the_features_of_its_target() -> None:
    assert len(node.features("neoverse_v2")) > 20
    assert sources.why_not("neoverse_v2", GRACE) is None
    assert sources.why_not("neoverse_v2", GRACE.replace(" sve2 ", " ")) == (
        "the benchmarks are built for neoverse_v2, and this node's processor lacks sve2"
    )


@pytest.mark.parametrize(
    ("stated", "machine", "found"),
    [
        (None, "x86_64", "x86_64_v3"),
        (None, "aarch64", "aarch64"),
        (None, "ppc64le", "ppc64le"),
        ("zen4", "x86_64", "zen4"),
        ("neoverse_v2", "x86_64", "neoverse_v2"),
    ],
)
def test_the_target_follows_the_machine(stated: str | None, machine: str, found: str) -> None:
    assert sources.default_target(stated, machine) == found


def run(line: str) -> tuple[int, str]:
    done = subprocess.run(["sh", "-c", f"{line}\necho went on"], capture_output=True, text=True)
    return done.returncode, done.stderr if done.returncode else done.stdout


def test_the_jobs_line_really_ends_it(tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text(V3, encoding="utf-8")
    line = sources.shell_check(node.features("x86_64_v4"), "x86_64_v4", str(tmp_path / "cpuinfo"))
    assert run(line) == (
        66,
        "railyard: error: the benchmarks are built for x86_64_v4, and the processor of this node lacks avx512bw: build "
        "for a target that every node has\n",
    )
    line = sources.shell_check(node.features("x86_64_v3"), "x86_64_v3", str(tmp_path / "cpuinfo"))
    assert run(line) == (0, "went on\n")


def test_the_executable_is_there_and_the_one_that_was_built(tmp_path: Path) -> None:
    file = tmp_path / "a folder" / "IMB-MPI1"
    file.parent.mkdir()
    line = sources.file_check(Executable(KeptFile(str(file), 5, 0, 0, "")))
    assert run(line) == (
        66,
        f"railyard: error: {file} is not there on this node, or may not be run: mount the install tree on the compute "
        "nodes\n",
    )
    file.write_text("12345", encoding="utf-8")
    assert run(line)[0] == 66
    file.chmod(0o755)
    assert run(line) == (0, "went on\n")
    file.write_text("123456", encoding="utf-8")
    assert run(line) == (66, f"railyard: error: {file} is not the file that was built (5 bytes): build it again\n")
