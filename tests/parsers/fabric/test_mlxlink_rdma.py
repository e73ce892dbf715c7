"""mlxlink and rdma, console and JSON, one trap per test; and text that is not an output of any tool."""

from pathlib import Path

import pytest

from railyard.parsers.fabric import FABRIC_PARSERS
from railyard.parsers.fabric.port import PortState
from railyard.parsers.output import ParsedOutput, ParseError, Remark

HERE = Path(__file__).parent


def read(name: str) -> ParsedOutput:
    path = next(
        path for path in (HERE / "samples" / f"{name}.txt", HERE / "recordings" / f"{name}.out") if path.is_file()
    )
    return FABRIC_PARSERS[name.partition("-")[0]](path.read_text(encoding="utf-8"))


def link(port: PortState) -> tuple[str | None, str | None, float | None, bool | None]:
    return port.width, port.speed, port.rate, port.is_degraded


def test_mlxlink_with_counters() -> None:
    (port,) = read("mlxlink").fabric
    # NDR is enabled, but this cable does not support it: HDR is the best
    assert (link(port), port.best_speed) == (("2X", "HDR", 100.0, False), "HDR")
    assert port.counters["RawPhysicalErrorsLane1"] == 242074
    assert (port.errors, port.saturated) == ({"LinkDownedCounter": 4}, ("SymbolErrors",))
    assert (port.extra["raw_physical_ber"], port.firmware) == (1e-8, "20.36.1010")


def test_mlxlink_of_a_dead_port_has_no_rate_and_a_failure() -> None:
    parsed = read("mlxlink-down")
    (port,) = parsed.fabric
    assert (port.state, port.is_active, link(port)) == ("Polling", False, (None,) * 4)
    assert parsed.failures == (Remark(2, "status opcode 1024: Cable is unplugged"),)


def test_mlxlink_as_json() -> None:
    (port,) = read("mlxlink-json").fabric
    assert (link(port), port.best_speed, port.link_layer) == (("4X", "100G", 100.0, True), "200G_4X", "Ethernet")
    assert [port.counters[f"RawPhysicalErrorsLane{lane}"] for lane in range(4)] == [5, 0, 7, 0]
    failed = FABRIC_PARSERS["mlxlink"]('{"result": {"output": "N/A"}, "status": {"code": 1, "message": "no device"}}')
    assert failed.failures == (Remark(1, "no device"),)


def test_rdma_link_old_new_and_json() -> None:
    first, second = read("rdma_link").fabric
    assert (first.lid, first.sm_lid, first.netdev, first.state) == (17, 3, "ib0", "Active")
    assert (second.state, second.physical_state, second.netdev) == ("Down", "Disabled", "eth4")
    old, unknown = read("rdma_link-old").fabric
    assert (old.state, old.physical_state) == ("Initializing", "PortConfigurationTraining")
    assert (unknown.device, unknown.port, unknown.state, unknown.physical_state) == ("mlx5_1", 2, None, None)
    text, json = read("rdma_link-rxe").fabric, read("rdma_link-json-rxe").fabric
    assert [(port.device, port.netdev, port.state) for port in text] == [
        (port.device, port.netdev, port.state) for port in json
    ]


def test_rdma_statistic_in_lines_wrapped_and_as_json() -> None:
    first, second = read("rdma_statistic").fabric
    assert first.counters == {"rx_write_requests": 10, "rx_atomic_requests": 0, "out_of_buffer": 135}
    assert second.counters == {"rx_write_requests": 0, "out_of_buffer": 7}
    # counts for only some queue pairs are not a port's
    assert [remark.line for remark in read("rdma_statistic").remarks] == [5, 6]
    (wrapped,) = read("rdma_statistic-wrapped").fabric
    assert wrapped.counters == dict(first.counters) | {"out_of_sequence": 2**64 - 1, "roce_slow_restart": 0}
    assert wrapped.saturated == ("out_of_sequence",)
    assert [(port.device, dict(port.counters)) for port in read("rdma_statistic-json").fabric] == [
        ("mlx5_0", {"rx_write_requests": 10, "out_of_buffer": 135}),
        ("mlx5_1", {"rx_write_requests": 0}),
    ]
    assert read("rdma_statistic-rxe").fabric[0].counters["completer_retry_err"] == 123


@pytest.mark.parametrize(
    ("tool", "opening"),
    [("rdma_link", '[{"ifname":'), ("rdma_statistic", '[{"ifname":'), ("mlxlink", '{"result":')],
)
def test_json_of_any_depth_is_an_error_and_no_overflow(tool: str, opening: str) -> None:
    with pytest.raises(ParseError, match="expected"):
        FABRIC_PARSERS[tool](opening * 100_000)


@pytest.mark.parametrize(
    ("tool", "text", "message"),
    [
        (
            "ibstat",
            "\nhello\n",
            "line 2: found 'hello', expected output of ibstat: a device as \"CA 'mlx5_0'\", or port GUIDs only",
        ),
        (
            "iblinkinfo",
            "",
            "found '', expected output of iblinkinfo: a port as \"5 1[  ] ==( 4X 25.78125 Gbps Active/ ...\"",
        ),
        (
            "rdma_link",
            '[ {"ifname": "mlx5_0", "sta',
            'line 1: found \'[ {"ifname": "mlx5_0", "sta\', expected output of rdma link: '
            'a port as "link mlx5_0/1 state ACTIVE ...", or the same as JSON',
        ),
    ],
)
def test_a_text_of_none_of_it_is_an_error(tool: str, text: str, message: str) -> None:
    with pytest.raises(ParseError) as error:
        FABRIC_PARSERS[tool](text)
    assert str(error.value) == message
