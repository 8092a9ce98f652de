"""The Ryu application: turns what Ryu knows of switches into news for the working loop, and does nothing else.

Ryu logs and drops an exception in one of its handlers, so handlers must not work: they only enqueue.
"""

from typing import Any

from ryu.base.app_manager import RyuApp
from ryu.controller import ofp_event
from ryu.controller.handler import DEAD_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from ryu.ofproto import ofproto_v1_4

from controller.southbound.connection import Connected, Connection, Disconnected, PortChanged, is_down
from controller.southbound.exchange import Xids
from controller.southbound.guard import Guard
from controller.southbound.inbox import Inbox
from controller.southbound.reconciler import Counters, Session


class Switches(RyuApp):  # type: ignore[misc]  # Ryu has no types
    """Knows the connections. `inbox` is read by the working loop alone."""

    OFP_VERSIONS = [ofproto_v1_4.OFP_VERSION]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.inbox = Inbox()
        self.counters = Counters()
        self.guard = Guard(self.counters)
        self.guard.install()
        self._connections: dict[Any, Connection] = {}
        self._epoch = 0
        self._xids = Xids()

    @set_ev_cls(ofp_event.EventOFPStateChange, [MAIN_DISPATCHER, DEAD_DISPATCHER])  # type: ignore[untyped-decorator]
    def on_state_change(self, event: Any) -> None:
        datapath = event.datapath
        if event.state == DEAD_DISPATCHER:
            connection = self._connections.pop(datapath, None)
            if connection is not None:
                self.inbox.put(Disconnected(connection))
        elif datapath not in self._connections:
            self._epoch += 1
            self.counters.connections += 1
            session = Session(self._xids.take, self.counters)
            connection = Connection(datapath, self._epoch, self.inbox, session)
            self._connections[datapath] = connection
            datapath.listener = connection
            self.inbox.put(Connected(connection))

    @set_ev_cls(ofp_event.EventOFPPortStatus, MAIN_DISPATCHER)  # type: ignore[untyped-decorator]
    def on_port_status(self, event: Any) -> None:
        message = event.msg
        connection = self._connections.get(message.datapath)
        if connection is not None:
            port = message.desc
            gone = message.reason == message.datapath.ofproto.OFPPR_DELETE
            news = PortChanged(connection, port.port_no, gone or is_down(port))
            self.inbox.put_latest((connection.epoch, port.port_no), news)
