"""The daemon's composition root: a Ryu application whose working loop takes the newest snapshot and observations,
compiles them, and lets the fleet of switches follow."""

import importlib
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import eventlet
from ryu import cfg

from controller.answers import Answers
from controller.checkup import Checkup, Engine, Witness
from controller.feeds import Feed, FileFeed, NoFeed, SnapshotNews, StoreFeed
from controller.model.placement import Observed
from controller.model.realization import Realization
from controller.northbound.store import Memory
from controller.progress import Progress
from controller.realized import realizations
from controller.southbound.chassis import ChassisNews
from controller.southbound.connection import Answer, Asked
from controller.southbound.fleet import Fleet
from controller.southbound.reconciler import Target
from controller.southbound.status import StatusSocket
from controller.southbound.switches import Switches
from controller.watches import Watches

LOG = logging.getLogger(__name__)
OPTIONS = [
    cfg.StrOpt("snapshot", help="JSON file with what should be; SIGHUP reads it again"),
    cfg.StrOpt("store", help="the store that says what should be, unix:PATH or tcp:HOST:PORT, instead of a file"),
    cfg.StrOpt("seen", help="file to remember in how far the store was: an older one is not followed after a restart"),
    cfg.StrOpt("status-socket", help="unix socket that tells the status, one JSON object per line"),
    cfg.StrOpt("engine", default="controller.compiler.program:Compiler", help="compiler to use (module:class)"),
    cfg.FloatOpt("settle-s", default=10.0, help="longest wait for switches and chassis before the first flow is sent"),
]
cfg.CONF.register_cli_opts(OPTIONS)

_TICK_S = 1.0  # the loop looks around at least so often
_SLICE_S = 0.002  # of work, between two chances for others
_COALESCE_S = 0.02  # observations that come this close to one another are compiled together
_DEATH = 70  # exit status when the loop dies: EX_SOFTWARE of sysexits.h


class Daemon:
    """The working loop. It alone touches the fleet, so nothing in it needs a lock."""

    def __init__(self, switches: Switches, engine: Engine, settle_s: float) -> None:
        self._inbox = switches.inbox
        self._engine = Witness(engine)
        self._fleet = Fleet()
        self._progress = Progress(self._fleet, switches.counters)
        self._answers = Answers(self._progress)
        self.checkup = Checkup(self._engine, self._progress, self._inbox)
        self.feed: Feed = NoFeed(self._inbox)
        self._watches = Watches(self._progress, self._inbox)
        self._compiled: Any = None  # what the last program was compiled from
        self._changed: float | None = None  # since when there are observations that were not compiled
        self._settle_s = settle_s
        self._settle_until: float | None = None

    def run(self, publish: Callable[[Callable[[], dict[str, Any]]], None]) -> None:
        """Works for ever; `publish` gets, after every turn, what makes the status."""
        self.feed.refresh()
        self.turn()
        while True:
            publish(self._status)
            self._inbox.wait(self._patience())
            self.turn()

    def turn(self) -> None:
        """Takes all news, compiles if they change anything, and sends what is due."""
        for news in self._inbox.take():
            if isinstance(news, ChassisNews):
                if self._watches.hear(news):
                    self._changed = self._changed or time.monotonic()
            elif isinstance(news, SnapshotNews):
                self._hear_snapshot(news)
            elif isinstance(news, Asked):
                self._answers.hear(news.connection)
            else:
                self._fleet.hear(news)
                if not isinstance(news, Answer):
                    self._changed = self._changed or time.monotonic()
        if self._may_compile():
            self._compile()
        self.checkup.advance()
        begun = time.monotonic()
        for _ in self._fleet.advance():
            if time.monotonic() > begun + _SLICE_S:
                eventlet.sleep(0)  # echo requests of other switches must not wait
                begun = time.monotonic()
        if self._answers.advance():
            self._inbox.wake()
        self._progress.arrivals.heard(self._fleet)
        if self._progress.settled:
            self.feed.confirm(complete=not self._progress.awaited())

    def realizations(self) -> dict[str, Realization]:
        """How far every bridge of the snapshot in force is. Means nothing before the loop has settled."""
        return realizations(self._progress)

    def _status(self) -> dict[str, Any]:
        self._progress.stale = self._changed is not None
        return self._progress.status()

    def _hear_snapshot(self, news: SnapshotNews) -> None:
        """Takes over a new snapshot. Whatever is not one changes nothing but the status."""
        if news.problem != self._progress.snapshot_problem and news.problem is not None:
            LOG.error("snapshot: %s", news.problem)
        self._progress.snapshot_problem = news.problem
        snapshot = news.snapshot
        if snapshot is None:
            return
        self._progress.follow(snapshot)
        self._settle_until = self._settle_until or time.monotonic() + self._settle_s
        self._compiled = None
        self._watches.follow(snapshot)
        LOG.info("snapshot: generation %d", snapshot.generation)

    def _may_compile(self) -> bool:
        """Whether it is time: something changed, no more is about to, and enough is known.

        After a restart everything must have been heard before the first flow is sent. Otherwise a port that was not
        heard of yet would be taken for unplugged, and its flows removed.
        """
        snapshot = self._progress.snapshot
        if snapshot is None:
            return False
        if not self._progress.settled:
            heard = all(map(self._fleet.connection, self._progress.names)) and not self._watches.blind(snapshot)
            assert self._settle_until is not None
            self._progress.settled = heard or time.monotonic() >= self._settle_until
        if not self._progress.settled:
            return False
        return self._compiled is None or self._unread() >= _COALESCE_S

    def _unread(self) -> float:
        """For how long there have been observations that were not compiled, in seconds."""
        return -1.0 if self._changed is None else time.monotonic() - self._changed

    def _compile(self) -> None:
        snapshot = self._progress.snapshot
        assert snapshot is not None
        self._changed = None
        known = self._progress.names  # what strangers report must not make work
        down = frozenset((dpid, port) for dpid, port in self._fleet.down() if dpid in known)
        observed = Observed(self._watches.plugged(), down)
        blind = self._watches.blind(snapshot)
        if (observed, blind) == self._compiled:
            return
        program = self._engine.update(snapshot, observed)
        self._compiled = observed, blind
        self._progress.because, self._progress.waiting = program.because, program.waiting
        self._progress.plugged = observed.plugged
        targets = {
            dpid: Target(snapshot.generation, flows, flows.version, program.tables.get(dpid, {}))
            for dpid, flows in program.flows.items()
            if dpid not in blind
        }
        self._progress.arrivals.compiled(observed.plugged, self._fleet.aim(targets))

    def _patience(self) -> float:
        waits = [_TICK_S]
        silence = self._fleet.check_silence()
        if silence is not None:
            waits.append(silence)
        if self._changed is not None and self._progress.settled:
            waits.append(max(0.0, _COALESCE_S - self._unread()))
        return min(waits)


class Overclos(Switches):
    """The application that Ryu loads. The launcher's options say what it reads and where it tells."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        options = cfg.CONF
        if options.log_config_file is None:
            _date_log_lines()
        if options.store and options.snapshot:
            sys.exit("--store and --snapshot both say what should be (give one of them)")
        tls = options.ctl_privkey is not None and options.ctl_cert is not None
        claim(options.ofp_listen_host, options.ofp_ssl_listen_port if tls else options.ofp_tcp_listen_port)

    def start(self) -> Any:
        super().start()
        return eventlet.spawn(self._work)

    def _work(self) -> None:
        options = cfg.CONF
        try:
            daemon = Daemon(self, load_engine(options.engine), options.settle_s)
            if options.store:
                memory = Memory(Path(options.seen)) if options.seen else None
                daemon.feed = StoreFeed(options.store, self.inbox, daemon.realizations, memory)
            elif options.snapshot:
                daemon.feed = FileFeed(Path(options.snapshot), self.inbox)
            status = None
            if options.status_socket:
                status = StatusSocket(options.status_socket, {"check": daemon.checkup.ask})
            _heed_signals(daemon.feed.refresh, status)
            daemon.run(status.publish if status else lambda _: None)
        except Exception:
            # Ryu would log this and stay up, deaf. A dead loop must end the process, so that it is started again.
            LOG.critical("the working loop died", exc_info=True)
            logging.shutdown()
            os._exit(_DEATH)


def claim(host: str, port: int) -> None:
    """Ends the process when it cannot listen there alone: Ryu would stay up without a socket, or share the port with
    another controller, and each would then know half of the switches."""
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
            probe.listen()
    except OSError as error:
        words = os.strerror(error.errno) if error.errno else str(error)
        sys.exit(f"cannot listen on {host}:{port}: {words} (see --ofp-listen-host and --ofp-tcp-listen-port)")


def _date_log_lines() -> None:
    """Ryu's own format is the bare text."""
    for handler in logging.getLogger().handlers:
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))


def load_engine(name: str) -> Engine:
    """An instance of the class `module:class`."""
    module, _, attribute = name.partition(":")
    engine: Engine = getattr(importlib.import_module(module), attribute)()
    return engine


def _heed_signals(reload: Callable[[], None], status: StatusSocket | None) -> None:
    """SIGHUP reads the snapshot again; SIGTERM and SIGINT end the process at once and leave every flow as it is."""

    def leave(number: int, _: Any) -> None:
        if status is not None:
            Path(status.path).unlink(missing_ok=True)
        sys.stdout.flush()
        logging.shutdown()
        os._exit(0)

    signal.signal(signal.SIGTERM, leave)
    signal.signal(signal.SIGINT, leave)
    signal.signal(signal.SIGHUP, lambda *_: None)
    # A handler cannot wake eventlet's hub out of its poll; a byte on a socket can.
    reading, writing = socket.socketpair()
    writing.setblocking(False)
    signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
    eventlet.spawn(_read_signals, reading, writing, reload)


def _read_signals(reading: socket.socket, writing: socket.socket, reload: Callable[[], None]) -> None:
    while numbers := reading.recv(64):
        if signal.SIGHUP in numbers:
            reload()
