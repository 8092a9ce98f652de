"""What instances of a running lab say to each other in tests: pings, connections, datagrams."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from lab_fixture import command_output, overclos
from topologies.emulator.lab import Lab

ECHO = """
import socket, sys, threading
def echo(connection):
    with connection:
        while data := connection.recv(1 << 16):
            connection.sendall(data)
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
with socket.create_server((sys.argv[1], int(sys.argv[2])), family=family) as server:
    print("listening", flush=True)
    while True:
        threading.Thread(target=echo, args=server.accept()[:1], daemon=True).start()
"""
TALK = """
import socket, sys
with socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=2) as connection:
    print("connected", flush=True)
    for line in sys.stdin:
        try:
            connection.sendall(line.encode())
            print(connection.recv(100).decode().strip(), flush=True)
        except TimeoutError:
            print("cut", flush=True)
"""
CONNECT = "import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), 1)"
ASK = """
import socket, sys
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
with socket.socket(family, socket.SOCK_DGRAM) as sender:
    sender.settimeout(2)
    sender.connect((sys.argv[1], 9999))
    try:
        sender.send(b"nobody listens")
        sender.recv(100)
    except ConnectionRefusedError:
        print("refused")
    except TimeoutError:
        print("silence")
"""
PUSH = """
import socket, sys, threading
data, back = bytes(range(256)) * 4096, bytearray()
with socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=10) as connection:
    threading.Thread(target=connection.sendall, args=(data,)).start()
    while len(back) < len(data):
        back += connection.recv(1 << 16)
print(back == data)
"""


def ping(lab: Lab, source: str, target: str, *options: str, status: int = 0) -> str:
    """One echo request, of a second at most; `status` 1 if there must be no answer. Options come last."""
    version = ["-6"] if ":" in target else []
    return command_output(lab, source, ["ping", *version, "-c", "1", "-W", "1", *options, target], status)


def assert_proven(lab: Lab) -> None:
    """`overclos test` finds every verdict as expected."""
    done = overclos("test", lab.name)
    assert done.returncode == 0, done.stdout + done.stderr


def datagram(lab: Lab, source: str, target: str) -> str:
    """What becomes of a datagram to UDP port 9999, where nobody listens: "refused" by ICMP (RFC 792), or "silence"."""
    return command_output(lab, source, [sys.executable, "-c", ASK, target]).strip()


def assert_refused(lab: Lab, source: str, target: str, port: int) -> None:
    """No connection is made within a second."""
    command_output(lab, source, [sys.executable, "-c", CONNECT, target, str(port)], status=1)


@contextmanager
def echoing(lab: Lab, node: str, address: str, port: int) -> Iterator[None]:
    """A TCP server that sends back what it gets."""
    argv = [sys.executable, "-c", ECHO, address, str(port)]
    server = lab.spawn(node, argv, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None and server.stdout.readline() == "listening\n"
        yield
    finally:
        server.kill()
        server.communicate()


class Talk:
    """An open connection to a server as above."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def say(self, word: str) -> str:
        """What comes back of a word: itself, or "cut" if nothing does within two seconds."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(word + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()


@contextmanager
def talking(lab: Lab, node: str, address: str, port: int) -> Iterator[Talk]:
    argv = [sys.executable, "-c", TALK, address, str(port)]
    process = lab.spawn(node, argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "connected\n"
        yield Talk(process)
    finally:
        process.kill()
        process.communicate()


def comes_back_whole(lab: Lab, source: str, address: str, port: int) -> bool:
    """Whether a MiB that is sent to such a server comes back as it was."""
    return command_output(lab, source, [sys.executable, "-c", PUSH, address, str(port)]) == "True\n"
