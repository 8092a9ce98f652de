"""Answers what instances ask the edge: from a switch to the service, and back to the port that asked."""

import time

from controller.edge.directory import Directory
from controller.edge.services import answer
from controller.model.snapshot import Snapshot
from controller.progress import Progress
from controller.southbound.connection import Connection
from controller.southbound.punts import Punted, packet_out

_SLICE_S = 0.01  # of work in one turn of the loop: changes of the network must not wait for questions


class Answers:
    """Answers from the snapshot in force. Who asks more than there is time for waits, and then is not heard."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._asking: dict[Connection, None] = {}
        self._known: tuple[Snapshot, Directory] | None = None

    def hear(self, connection: Connection) -> None:
        """The switch has handed over packets."""
        self._asking[connection] = None

    def advance(self) -> bool:
        """Answers what there is time for; whether there is more."""
        until = time.monotonic() + _SLICE_S
        while self._asking and time.monotonic() < until:
            connection = next(iter(self._asking))
            del self._asking[connection]
            punted = connection.punt()
            if punted is not None:
                self._asking[connection] = None  # at the end: everybody has its turn
                self._answer(connection, punted)
        return bool(self._asking)

    def _answer(self, connection: Connection, punted: Punted) -> None:
        port = self._port(connection.dpid, punted.ofport)
        directory = self._directory()
        if port is None or directory is None:
            return
        frame = answer(punted.ask, punted.frame, port, directory)
        if frame is not None:
            connection.send(packet_out(punted.ofport, frame))

    def _port(self, dpid: int, ofport: int) -> str | None:
        """The id of the port that is plugged into the br-int there."""
        chassis = self._progress.names.get(dpid, "").removesuffix("/br-int")
        plugs = self._progress.plugs.get(chassis)
        if plugs is None:
            return None
        return next((port for port, number in plugs.plugged.items() if number == ofport), None)

    def _directory(self) -> Directory | None:
        snapshot = self._progress.snapshot
        if snapshot is not None and (self._known is None or self._known[0] is not snapshot):
            self._known = snapshot, Directory(snapshot)
        return self._known[1] if self._known else None
