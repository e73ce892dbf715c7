"""Runs commands in a guest: ``serve`` answers there, ``call`` asks. Needs only the standard library; run as a file.

    python3 -I -S agent.py serve PORT WORDS               print WORDS when ready, then take commands
    python3 -I -S agent.py call ADDRESS PORT NODE COMMAND…

There is one connection per command: first a frame of JSON (argv, cwd, env), then frames both ways. A frame is a letter,
four bytes of length, and that many bytes. From the caller: ``i`` input (empty: its end), ``s`` a signal's number. To
the caller: ``o`` output, ``e`` errors, ``x`` the exit code, ``f`` the sentence of a command that could not be started.
If the caller goes away, the command's whole process group is killed.
"""

import contextlib
import json
import os
import selectors
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

TMPDIR = "/run/tmp"
#: How long to read output after the command's end, if a process that it left behind keeps it open.
LEFT_OPEN_S = 0.2
_CHUNK = 65536


# A signal's handler may send while its own thread is sending.
_sending = threading.RLock()


def send(sock: socket.socket, kind: bytes, data: bytes = b"") -> None:
    """Send one frame whole."""
    with _sending:
        sock.sendall(kind + struct.pack("!I", len(data)) + data)


def receive(sock: socket.socket) -> "tuple[bytes, bytes] | None":
    """Return the next frame, None if the other end is gone."""
    head = _read_exactly(sock, 5)
    if head is None:
        return None
    data = _read_exactly(sock, struct.unpack("!I", head[1:])[0])
    return None if data is None else (head[:1], data)


def _read_exactly(sock: socket.socket, length: int) -> "bytes | None":
    found = b""
    while len(found) < length:
        try:
            part = sock.recv(length - len(found))
        except OSError:  # the other end is gone, or another thread of ours has closed it
            return None
        if not part:
            return None
        found += part
    return found


def serve(port: int, ready: str) -> None:
    """Take commands for ever, each in its own thread."""
    with socket.create_server(("", port), backlog=64) as listener:
        print(ready, flush=True)
        while True:
            sock, _ = listener.accept()
            threading.Thread(target=_answer, args=(sock,), daemon=True).start()


def _answer(sock: socket.socket) -> None:
    with sock:
        frame = receive(sock)
        if frame is None:
            return
        asked = json.loads(frame[1])
        try:
            running = subprocess.Popen(
                asked["argv"], cwd=asked["cwd"], env={**asked["env"], "TMPDIR": TMPDIR},
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            with contextlib.suppress(OSError):
                send(sock, b"f", f"{error.filename or asked['argv'][0]}: {error.strerror}".encode())
            return
        with running:
            try:
                _relay(sock, running)
            except OSError:  # the caller is gone
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(running.pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)


def _relay(sock: socket.socket, running: "subprocess.Popen[bytes]") -> None:
    """Pass on input, output and signals until the command has ended. Raises OSError if the caller goes away."""
    assert running.stdin is not None
    assert running.stdout is not None
    assert running.stderr is not None
    threading.Thread(target=_listen, args=(sock, running), daemon=True).start()
    with selectors.DefaultSelector() as watched:
        watched.register(running.stdout, selectors.EVENT_READ, b"o")
        watched.register(running.stderr, selectors.EVENT_READ, b"e")
        ended_at = None
        while watched.get_map():
            if ended_at is None and running.poll() is not None:
                ended_at = time.monotonic()
            events = watched.select(0.05)
            for key, _ in events:
                data = os.read(key.fd, _CHUNK)
                if data:
                    send(sock, key.data, data)
                else:
                    watched.unregister(key.fileobj)
            if ended_at is not None and not events and time.monotonic() - ended_at > LEFT_OPEN_S:
                break
    code = running.wait()
    send(sock, b"x", str(code if code >= 0 else 128 - code).encode())


def _listen(sock: socket.socket, running: "subprocess.Popen[bytes]") -> None:
    """Give the command what the caller sends; if the caller goes away, end the command's whole process group."""
    assert running.stdin is not None
    while True:
        frame = receive(sock)
        with contextlib.suppress(OSError, ValueError):  # it has ended, or its input is closed
            if frame is None:
                os.killpg(running.pid, signal.SIGKILL)
            elif frame[0] == b"s":
                os.kill(running.pid, int(frame[1]))
            elif frame[1]:
                running.stdin.write(frame[1])
                running.stdin.flush()
            else:
                running.stdin.close()
        if frame is None:
            return


def call(address: str, port: int, node: str, argv: "list[str]") -> int:
    """Run a command in a guest, with our input, output, folder and environment; return its exit code."""
    try:
        sock = socket.create_connection((address, port), timeout=30)
    except OSError as error:
        return _refuse_node(node, f"takes no commands ({error.strerror or error}): its console says why")
    with sock:
        sock.settimeout(None)
        send(sock, b"c", json.dumps({"argv": argv, "cwd": os.getcwd(), "env": dict(os.environ)}).encode())
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2):
            signal.signal(number, lambda received, _: send(sock, b"s", str(received).encode()))
        threading.Thread(target=_hand_input, args=(sock,), daemon=True).start()
        outputs = {b"o": sys.stdout.buffer, b"e": sys.stderr.buffer}
        while True:
            frame = receive(sock)
            if frame is None:
                return _refuse_node(node, "ended while it ran this command")
            kind, data = frame
            if kind == b"x":
                return int(data)
            if kind == b"f":
                return _refuse_node(node, f"cannot start it: {data.decode(errors='replace')}")
            outputs[kind].write(data)
            outputs[kind].flush()


def _hand_input(sock: socket.socket) -> None:
    with contextlib.suppress(OSError, ValueError):
        while data := os.read(0, _CHUNK):
            send(sock, b"i", data)
        send(sock, b"i")


def _refuse_node(node: str, why: str) -> int:
    print(f"railyard testbed guests: {node} {why}", file=sys.stderr)
    return 2


def main(words: "list[str]") -> int:
    """Do what the module's docstring says."""
    if words[0] == "serve":
        serve(int(words[1]), words[2])
    return call(words[1], int(words[2]), words[3], words[4:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
