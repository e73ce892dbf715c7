"""A known number of bytes over the loopback device: all that is sent arrives, and a failure has its reason."""

import socket
import subprocess
import sys

import pytest

from railyard.cluster.doctor import payload
from tests.patience import PATIENCE_S

HOST = "127.0.0.1"


def free_port() -> str:
    with socket.create_server((HOST, 0)) as server:
        return str(server.getsockname()[1])


@pytest.mark.parametrize(("size", "expected", "code"), [("3000000", "3000000", 0), ("3000000", "3000001", 1)])
def test_exactly_the_bytes_that_were_sent_arrive(
    monkeypatch: pytest.MonkeyPatch, size: str, expected: str, code: int
) -> None:
    monkeypatch.setattr(payload, "_LIMIT_S", float(PATIENCE_S))
    port = free_port()
    with subprocess.Popen([sys.executable, payload.__file__, "receive", HOST, port, expected]) as taking:
        assert payload.main(["send", HOST, HOST, port, size]) == 0
        assert taking.wait(timeout=PATIENCE_S) == code


def test_a_peer_at_which_nobody_listens_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(payload, "_LIMIT_S", 0.1)
    assert payload.main(["send", HOST, HOST, free_port(), "1"]) == 1
    assert capsys.readouterr().err == "nobody listens\n"
    assert payload.main(["receive", HOST, free_port(), "1"]) == 1
    assert capsys.readouterr().err == "timed out\n"
