"""Starts the controller: `ryu-manager` with our application, and with what Ryu 4.34 needs on today's Python.

Every flag of ryu-manager and the names of further Ryu applications are accepted.
"""

import gc
import logging
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from typing import Any

USAGE = """\
overclos controller: an OpenFlow 1.4 controller (Open vSwitch) on Ryu.

  python -m controller.launcher --snapshot lab.json --status-socket /run/overclos/lab/controller.sock \\
      --ofp-listen-host 172.31.0.1
  python -m controller.launcher --store unix:/run/overclos/lab/store.sock --seen /run/overclos/lab/controller.seen

It listens on 127.0.0.1:6653 unless told otherwise. Each switch of the snapshot is read when it connects and gets only
the difference, in one atomic bundle; a switch that the snapshot does not know gets nothing. Stopping the controller
changes no flow. Further Ryu applications may be named, such as ryu.app.ofctl_rest. Ryu's REST has no access control: it
listens on 127.0.0.1:8080 unless told otherwise (--wsapi-host, --wsapi-port).

With --store it follows the store and writes back what every switch has confirmed. A store that is away, empty, another
one or older than what was seen changes no flow either; --seen FILE remembers that beyond a restart (remove the file to
follow a store that was restored from a backup).

  kill -HUP PID          reads the snapshot file again
  kill PID               leaves at once, every switch goes on forwarding
  socat - UNIX:SOCKET    shows the status, one JSON object per line on each change; the line `check` is answered with
                         what `overclos controller --check SOCKET` shows

"""
HOST, PORT = "127.0.0.1", 6653
_COLLECT = (50_000, 20, 100)  # flows live long and have no cycles: looking through them took half of a change's time
_ECHO_INTERVAL_S, _UNANSWERED_ECHOES = 5.0, 3


def main(argv: Sequence[str] | None = None) -> int:
    """Runs until a signal ends it. `argv` without the program's name; default: the process' own arguments."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if {"-h", "--help"} & set(arguments):
        sys.stdout.write(USAGE)
        sys.stdout.flush()
    gc.set_threshold(*_COLLECT)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until the application reads its snapshot, there is nothing to reread
    manager = _ryu_manager()
    from ryu import cfg  # after the preparations above

    import controller.app  # noqa: F401  registers our options

    cfg.CONF.set_default("ofp_listen_host", HOST)
    cfg.CONF.set_default("ofp_tcp_listen_port", PORT)
    cfg.CONF.set_default("wsapi_host", HOST)  # the REST API of further Ryu applications asks for no password
    cfg.CONF.set_default("echo_request_interval", _ECHO_INTERVAL_S)
    cfg.CONF.set_default("maximum_unreplied_echo_requests", _UNANSWERED_ECHOES)
    manager.main(args=[*arguments, "controller.app"], prog="overclos controller")
    return 0


def _ryu_manager() -> Any:
    """ryu.cmd.manager, made importable: Ryu wants an attribute that eventlet dropped, and eventlet warns of itself."""
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    warnings.filterwarnings("ignore", message=r"\s*Eventlet is deprecated")
    _forget_distutils_shim()
    # eventlet complains, through a logger that has no handler, of the locks of modules imported before it; all green
    # threads are one thread, which a lock may pass any number of times.
    logging.lastResort = logging.NullHandler()
    os.environ.setdefault("EVENTLET_NO_GREENDNS", "yes")  # we resolve no names, and the import takes 0.1 s
    import eventlet.wsgi

    if not hasattr(eventlet.wsgi, "ALREADY_HANDLED"):
        eventlet.wsgi.ALREADY_HANDLED = object()
    from ryu.cmd import manager

    return manager


def _forget_distutils_shim() -> None:
    """Ryu imports distutils for one version comparison. Where the standard library still has it (before Python 3.12),
    setuptools' stand-in for it only costs 0.4 s of start-up."""
    if sys.version_info < (3, 12) and "_distutils_hack" in sys.modules:
        sys.modules["_distutils_hack"].remove_shim()


if __name__ == "__main__":
    sys.exit(main())
