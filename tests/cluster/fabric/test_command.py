"""`railyard fabric --from DIR`: what it prints, its exit codes, and one sentence for wrong input."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from railyard.base.paths import HOME_VARIABLE
from railyard.cli.main import main
from railyard.site.systems.model import System
from railyard.site.topology import hops_between

Links = dict[str, Any]
Run = Callable[..., tuple[int, str, str]]
RECORDINGS = Path(__file__).parents[2] / "parsers/fabric/recordings"


@pytest.fixture
def run(
    synthetic_system: System,
    tmp_path: Path,
    links: Links,
    show: Callable[[Links], str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    """Write these links' iblinkinfo, run the command on it, and return exit code and both outputs."""
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    folder = tmp_path / "saved"
    folder.mkdir()

    def call(changed: Links | None = None, *options: str) -> tuple[int, str, str]:
        (folder / "iblinkinfo.out").write_text(show(links if changed is None else changed), encoding="utf-8")
        words = ["fabric", "--system", "made", "--fabric", "edr", "--from", str(folder)]
        code = main([*words, *options])
        return (code, *capsys.readouterr())

    return call


def test_a_healthy_fabric_is_three_lines_and_exit_0(run: Run) -> None:
    assert run() == (
        0,
        "note: no error counters were read: ibqueryerrors has no output here\n"
        "switches between two nodes on a rail, and how many pairs: 1: 4, 3: 8\n"
        "edr: 8 ports of 4 nodes seen, 0 problems, 0 remarks\n",
        "",
    )


def test_a_problem_names_place_found_expected_and_fix(run: Run, links: Links) -> None:
    links["vn3 mlx5_1"] = replace(links["vn3 mlx5_1"], width="1X")
    code, out, err = run(links)
    assert (code, err) == (1, "")
    assert out.splitlines()[:3] == [
        "problem: vn3 mlx5_1 port 1: 1X EDR (25 Gbit/s)",
        "    expected 4X EDR (100 Gbit/s)",
        "    lanes are lost: reseat or replace the cable to LeafB port 2",
    ]
    assert out.endswith("edr: 8 ports of 4 nodes seen, 1 problem, 0 remarks\n")


@pytest.mark.parametrize(
    ("fabric", "layer", "more"),
    [
        ("edr", "InfiniBand", "root on one node sees all of the subnet"),
        ("roce", "Ethernet", "FabricState asks every node"),
    ],
)
def test_ports_that_nobody_saw_are_counted(run: Run, tmp_path: Path, fabric: str, layer: str, more: str) -> None:
    folder = tmp_path / "own/vn1"
    folder.mkdir(parents=True)
    text = (RECORDINGS / "ibstat-unplugged-ibsim.out").read_text(encoding="utf-8")
    text = text.replace("ibsim0", "mlx5_0").replace("Link layer: IB", f"Link layer: {layer}")
    (folder / "ibstat.out").write_text(text + text.replace("mlx5_0", "mlx5_1"), encoding="utf-8")
    _, out, _ = run(None, "--from", str(tmp_path / "own"), "--fabric", fabric)
    assert f"not seen: 6 of 8 ports of rails; judged is what nodes read of themselves ({more})" in out.splitlines()


def test_json_has_the_same(run: Run, links: Links) -> None:
    del links["vn4 mlx5_1"]
    code, out, _ = run(links, "--json")
    told = json.loads(out)
    assert (code, told["format"], told["fabric"], told["ports"], told["unseen"], told["hops"]) == (
        *(1, 1, "edr", 7, 0),
        {"1": 3, "3": 6},
    )
    (finding,) = told["findings"]
    assert (finding["what"], finding["node"], finding["device"], finding["port"], finding["weight"]) == (
        *("missing", "vn4", "mlx5_1", 1),
        "problem",
    )


def test_hops_are_kept_for_references(run: Run, tmp_path: Path) -> None:
    code, _, err = run(None, "--keep-hops")
    assert (code, err) == (0, f"railyard: hops are kept in {tmp_path}/.railyard/hops/made.edr.json\n")
    rails = ("mlx5_0", "mlx5_1")
    pairs = (("vn1", "vn2"), ("vn1", "vn3.site"))
    assert [hops_between(tmp_path, "made", "edr", nodes, rails, None) for nodes in pairs] == [1, 3]


@pytest.mark.parametrize(
    ("switches", "said"),
    [
        ("{a: [vn1, vn2], b: [vn3, vn4]}", ""),
        ("{a: [vn1, vn3], b: [vn2, vn4]}", "railyard: edr: vn1 and vn3 are at a by the file, and at LID 1 and LID 2 on "
         "mlx5_0 as measured: correct leaf_switches, or the file that topology names"),
    ],
)  # fmt: skip
def test_hops_that_contradict_the_files_leaf_switches_are_told(
    run: Run, tmp_path: Path, switches: str, said: str
) -> None:
    file = tmp_path / "systems/made.yaml"
    text = file.read_text(encoding="utf-8")
    file.write_text(
        text.replace("    kind: ib\n", f"    kind: ib\n    leaf_switches: {switches}\n", 1), encoding="utf-8"
    )
    code, _, err = run(None, "--keep-hops")
    assert code == 0
    assert [line.startswith(said) for line in err.splitlines()[1:]] == ([True] if said else [])


def test_without_a_subnet_there_are_no_hops_to_keep(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "own/vn1"
    folder.mkdir(parents=True)
    shutil.copy(RECORDINGS / "ibstat-unplugged-ibsim.out", folder / "ibstat.out")
    text = (folder / "ibstat.out").read_text(encoding="utf-8").replace("ibsim0", "mlx5_1")
    (folder / "ibstat.out").write_text(text, encoding="utf-8")
    code, _, err = run(None, "--from", str(tmp_path / "own"), "--keep-hops")
    assert (code, err) == (2, "railyard: edr: found no subnet with nodes and devices by name: no hops to keep\n")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            ("--fabric", "fdr"),
            'railyard: systems/made.yaml: found no fabric "fdr", expected a fabric of that name; did you mean "edr"?\n',
        ),
        (
            ("--system", "mad"),
            'railyard: systems/: found no system "mad", expected a system of that name; did you mean "made"?\n',
        ),
        (
            ("--from", "/nowhere"),
            "railyard: /nowhere: found no such folder, expected a folder of saved outputs\n",
        ),
    ],
)
def test_wrong_input_is_one_sentence_and_exit_2(run: Run, options: tuple[str, ...], sentence: str) -> None:
    assert run(None, *options) == (2, "", sentence)


def test_a_fabric_of_which_nothing_was_seen_is_no_pass(run: Run, tmp_path: Path) -> None:
    (tmp_path / "blind").mkdir()
    nothing = "## Summary: 0 nodes checked, 0 bad nodes found\n"
    (tmp_path / "blind/ibqueryerrors.out").write_text(nothing, encoding="utf-8")
    code, out, err = run(None, "--from", str(tmp_path / "blind"))
    assert (code, out) == (2, "")
    assert err.startswith(
        "railyard: edr: found no port of its rails in any reading, expected mlx5_0 port 1, mlx5_1 port 1; run it on "
    )


@pytest.fixture
def run_all(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[[str], tuple[int, str, str]]:
    """Judge all fabrics of the system (the Ethernet one with another device) by what a healthy subnet shows."""
    run()

    def call(device: str) -> tuple[int, str, str]:
        file = tmp_path / "systems/made.yaml"
        head, roce, tail = file.read_text(encoding="utf-8").partition("  roce:\n")
        file.write_text(head + roce + tail.replace("mlx5_1", device), encoding="utf-8")
        code = main(["fabric", "--system", "made", "--from", str(tmp_path / "saved")])
        return (code, *capsys.readouterr())

    return call


ALL_SEEN = "edr: 8 ports of 4 nodes seen, 0 problems, 0 remarks\n"


def test_cards_that_are_infiniband_now_are_no_fabric_of_ethernet(
    run_all: Callable[[str], tuple[int, str, str]],
) -> None:
    code, out, err = run_all("mlx5_1")
    assert (code, out.endswith(ALL_SEEN)) == (0, True)
    assert err.startswith("railyard: roce: found no port of its rails in any reading")


def test_a_fabric_with_cards_of_its_own_that_nobody_saw_is_no_pass(
    run_all: Callable[[str], tuple[int, str, str]],
) -> None:
    code, out, err = run_all("mlx5_2")
    assert (code, out.endswith(ALL_SEEN)) == (2, True)
    assert err.startswith("railyard: roce: found no port of its rails in any reading")
