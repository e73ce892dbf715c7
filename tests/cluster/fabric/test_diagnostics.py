"""The diagnostics' outputs are kept, their failures are reported, and each subnet is asked once."""

from collections.abc import Callable
from pathlib import Path

import pytest

from railyard.cluster.fabric import saved_outputs

Collect = Callable[..., tuple[list[str], list[str]]]
GUID = "0xb8599f030000100a"


@pytest.fixture
def collect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Collect:
    """Run fake tools (name: body of a shell script) and return the files that they left and the messages."""
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setattr(saved_outputs, "SEARCH_PATH", str(programs))

    def run(tools: dict[str, str], again_s: float | None = None) -> tuple[list[str], list[str]]:
        for name, body in tools.items():
            (programs / name).write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
            (programs / name).chmod(0o755)
        said: list[str] = []
        folder = tmp_path / "out"
        saved_outputs.collect(folder, "vn1", said.append, again_s, tmp_path / "sys")
        return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()), said

    return run


def make_port(root: Path, device: str, guid: str, state: str = "4: ACTIVE", layer: str = "InfiniBand") -> None:
    port = root / "sys/class/infiniband" / device / "ports/1"
    (port / "gids").mkdir(parents=True)
    gid = f"fe80:0000:0000:0000:{guid[2:6]}:{guid[6:10]}:{guid[10:14]}:{guid[14:]}"
    for name, text in {"state": state, "link_layer": layer, "gids/0": gid}.items():
        (port / name).write_text(f"{text}\n", encoding="utf-8")


def test_a_tool_that_is_not_there_or_fails_is_said(collect: Collect) -> None:
    files, said = collect(
        {
            "iblinkinfo": "echo >&2; echo ibpanic: no right >&2; exit 1",
            "sminfo": "echo sminfo: iberror: failed: query >&2; exit 1",
            "ibqueryerrors": "echo '## Summary: 2 nodes checked, 1 bad nodes found'; exit 1",
        }
    )
    assert files == ["ibqueryerrors.out", "sminfo.out"]
    assert said == [
        "ibnetdiscover is not installed: what it shows is not judged",
        "iblinkinfo printed nothing (exit code 1): ibpanic: no right",
        "ibv_devinfo is not installed: what it shows is not judged",
        "ibstat is not installed: what it shows is not judged",
        "rdma is not installed: what it shows is not judged",
    ]


def test_counters_are_read_a_second_time(collect: Collect) -> None:
    files, _ = collect({"ibqueryerrors": "echo '## Summary: 2 nodes checked, 0 bad nodes found'"}, 0.01)
    assert files == ["ibqueryerrors-later.out", "ibqueryerrors.out"]


def test_each_subnet_is_asked_once(collect: Collect, tmp_path: Path) -> None:
    for device, guid in {"mlx5_0": GUID, "mlx5_1": GUID[:-1] + "b", "mlx5_2": GUID[:-1] + "c"}.items():
        make_port(tmp_path, device, guid)
    # The first subnet also shows the second rail's GUID; the third rail has a subnet of its own.
    files, _ = collect({"iblinkinfo": f'echo "$2 $4 {GUID} {GUID[:-1]}b"'})
    assert files == ["iblinkinfo-mlx5_0.out", "iblinkinfo-mlx5_2.out"]
    assert (tmp_path / "out/iblinkinfo-mlx5_2.out").read_text(encoding="utf-8").startswith("mlx5_2 1 ")


def test_only_a_rail_of_infiniband_that_is_up_is_asked_from(collect: Collect, tmp_path: Path) -> None:
    make_port(tmp_path, "mlx5_0", GUID, "1: DOWN")
    make_port(tmp_path, "mlx5_1", GUID, layer="Ethernet")
    make_port(tmp_path, "mlx5_2", GUID)
    for device in ("mlx5_1", "mlx5_2"):
        (tmp_path / "sys/class/infiniband" / device / "device/net" / f"net_{device}").mkdir(parents=True)
    files, _ = collect({"sminfo": 'echo "$@"', "dcb": 'echo "$@"'})
    assert files == ["sminfo-mlx5_2.out", "vn1/dcb-mlx5_1.out"]
    assert (tmp_path / "out/vn1/dcb-mlx5_1.out").read_text(encoding="utf-8") == "pfc show dev net_mlx5_1\n"


def test_what_a_tool_that_failed_in_part_said_of_it_is_kept(collect: Collect, tmp_path: Path) -> None:
    said = "echo a port; echo a remark >&2"
    collect({"iblinkinfo": f"{said}; exit 1", "ibnetdiscover": said})
    kept = {
        tool: (tmp_path / f"out/{tool}.out").read_text(encoding="utf-8") for tool in ("iblinkinfo", "ibnetdiscover")
    }
    assert kept == {"iblinkinfo": "a port\na remark\n", "ibnetdiscover": "a port\n"}
