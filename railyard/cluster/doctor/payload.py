"""Sends a known number of bytes over TCP, or receives them. Start it by its path: it needs only Python.

payload.py send OWN PEER PORT BYTES: sends from the own address to the peer's; ends when the peer has read all bytes.
payload.py receive OWN PORT BYTES: exit code 0 if exactly so many bytes came.
"""

import contextlib
import socket
import sys
import time

_LIMIT_S = 20.0
_CHUNK = 1 << 20


def send(own: str, peer: str, port: int, size: int) -> None:
    """Send so many bytes and wait until the peer has closed. Raises OSError, for example TimeoutError."""
    with _connect_to_peer(own, peer, port) as line:
        for begin in range(0, size, _CHUNK):
            line.sendall(bytes(min(_CHUNK, size - begin)))
        line.shutdown(socket.SHUT_WR)
        line.recv(1)


def receive(own: str, port: int, size: int) -> bool:
    """Take one connection and return whether exactly so many bytes came. Raises OSError, for example TimeoutError."""
    with socket.create_server((own, port)) as server:
        server.settimeout(_LIMIT_S)
        line, _ = server.accept()
        with line:
            line.settimeout(_LIMIT_S)
            count = 0
            while chunk := line.recv(_CHUNK):
                count += len(chunk)
    return count == size


def _connect_to_peer(own: str, peer: str, port: int) -> socket.socket:
    """Return a connection. Try again for a while: the peer may begin to listen later than this process starts."""
    end = time.monotonic() + _LIMIT_S
    while True:
        with contextlib.suppress(ConnectionRefusedError):
            return socket.create_connection((peer, port), timeout=_LIMIT_S, source_address=(own, 0))
        if time.monotonic() > end:
            raise TimeoutError("nobody listens")
        time.sleep(0.02)


def main(words: list[str]) -> int:
    """Do what the words say; return 1 if it failed, with the reason on stderr."""
    try:
        match words:
            case ["send", own, peer, port, size]:
                send(own, peer, int(port), int(size))
                return 0
            case ["receive", own, port, size]:
                return 0 if receive(own, int(port), int(size)) else 1
    except OSError as error:
        print(error.strerror or error, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
