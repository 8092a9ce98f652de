"""`python -m controller.northbound.api`: serves the REST API on a unix socket, on TCP, or on both."""

import argparse
import asyncio
import contextlib
import gc
import logging
import os
import socket
import sys
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from controller.northbound.api.app import create
from controller.northbound.api.operator import make_operator
from controller.northbound.store import Store, StoreError

GRACE_S = 2  # for requests under way when the process is told to end
BACKLOG = 512
COLLECT = (50_000, 20, 100)  # the contents live long and have no cycles: looking through them costs 30 ms each time
MAX_PATH = 107  # sun_path of unix(7), without the final NUL
EPILOG = """\
examples:
  python -m controller.northbound.store create store.db
  ovsdb-server store.db --remote=punix:store.sock &
  python -m controller.northbound.api --store unix:store.sock --new-operator operator.token
  python -m controller.northbound.api --store unix:store.sock --uds api.sock
  python -m controller.northbound.api --store tcp:10.0.0.5:6640 --host 127.0.0.1 --port 8080

  curl --unix-socket api.sock -H "Authorization: Bearer $(cat operator.token)" http://api/v1/status

/openapi.json describes every route, /docs shows it as a page. Every route but these and /health needs a token.
TCP is plain HTTP: let it listen on a private address, or put a TLS proxy in front.
"""


def main(argv: list[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    gc.set_threshold(*COLLECT)
    try:
        store = Store(arguments.store)
        if arguments.new_operator:
            make_operator(store, arguments.new_operator)
            return 0
        if arguments.uds is None and arguments.port is None:
            print("nothing to listen on: give --uds PATH, --port PORT or both", file=sys.stderr)
            return 2
        with contextlib.ExitStack() as sockets:
            listening = [sockets.enter_context(each) for each in _listen(arguments)]
            asyncio.run(_serve(create(store), listening))
    except (StoreError, OSError) as error:
        print(f"api: {error}", file=sys.stderr)
        return 1
    return 0


async def _serve(app: FastAPI, sockets: list[socket.socket]) -> None:
    config = uvicorn.Config(
        app, http="h11", ws="none", lifespan="on", log_config=None, access_log=False, server_header=False,
        proxy_headers=False, timeout_graceful_shutdown=GRACE_S, timeout_keep_alive=30, limit_concurrency=1000,
        h11_max_incomplete_event_size=32 << 10,
    )  # fmt: skip
    await uvicorn.Server(config).serve(sockets)


def _listen(arguments: argparse.Namespace) -> list[socket.socket]:
    sockets = []
    if arguments.uds is not None:
        sockets.append(_unix(arguments.uds))
    if arguments.port is not None:
        sockets.append(socket.create_server((arguments.host, arguments.port), backlog=BACKLOG))
    return sockets


def _unix(path: str) -> socket.socket:
    """A socket that everybody may connect to, for it is the token that counts. A dead API's is replaced."""
    if len(os.fsencode(path)) > MAX_PATH:
        raise OSError(f"{path}: longer than {MAX_PATH} bytes, the limit of unix(7) (use a shorter directory)")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)
        except FileNotFoundError:
            pass
        else:
            raise OSError(f"{path}: another API is listening there")
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        server.bind(path)
        os.chmod(path, 0o666)
        server.listen(BACKLOG)
    except OSError as error:
        server.close()
        raise OSError(f"{path}: {error.strerror or error} (does the directory exist?)") from error
    return server


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m controller.northbound.api", description="The REST API of Overclos.", epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--store", required=True, metavar="REMOTE", help="the intent store: unix:PATH or tcp:HOST:PORT")
    parser.add_argument("--uds", metavar="PATH", help="unix socket to listen on")
    parser.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="with --port; default: 127.0.0.1")
    parser.add_argument("--port", type=int, metavar="PORT", help="TCP port to listen on")
    file = "make an operator token, write it to this new file (mode 0600), and end"
    parser.add_argument("--new-operator", type=Path, metavar="FILE", help=file)
    return parser


if __name__ == "__main__":
    sys.exit(main())
