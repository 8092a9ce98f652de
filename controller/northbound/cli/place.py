"""Finds the API and the token: what the user names, or the one lab of this machine that has an API."""

import argparse
import os
import re
from dataclasses import dataclass
from pathlib import Path

from controller.northbound.cli.errors import CliError

RUN_DIRECTORY, DEFAULT_RUN = "OVERCLOS_RUN_DIR", "/run/overclos"
SOCKET, OPERATOR_TOKEN = "api.sock", "operator.token"


@dataclass(frozen=True, slots=True)
class Address:
    """Where the API is: ``unix:PATH``, ``http://HOST:PORT`` or ``https://HOST:PORT``; and the token to show it."""

    api: str
    token: str


def declare(parser: argparse.ArgumentParser) -> None:
    """The options that every verb of the API has."""
    group = parser.add_argument_group("where the API is")
    group.add_argument("--lab", metavar="LAB", help="name of a lab of this machine; the only one if left out")
    group.add_argument("--api", metavar="URL", help="unix:PATH or http://HOST:PORT; default: $OVERCLOS_API, the lab's")
    tokens = "file with the access token; default: $OVERCLOS_TOKEN, the lab's operator token"
    group.add_argument("--token-file", type=Path, metavar="FILE", help=tokens)


def find(arguments: argparse.Namespace) -> Address:
    """The address that the arguments and the environment name. Raises CliError when there is none."""
    api = arguments.api or (None if arguments.lab else os.environ.get("OVERCLOS_API"))
    directory = None if api else _directory(arguments.lab)
    return Address(api or f"unix:{directory}/{SOCKET}", _token(arguments.token_file, directory))


def labs() -> list[str]:
    """The labs of this machine that have an API."""
    return sorted(socket.parent.name for socket in _run().glob(f"*/{SOCKET}"))


def _run() -> Path:
    return Path(os.environ.get(RUN_DIRECTORY) or DEFAULT_RUN)


def _directory(lab: str | None) -> Path:
    names = labs()
    if lab is None and len(names) != 1:
        hint = f"--lab, one of {', '.join(names)}" if names else "overclos up FILE, or --api URL"
        raise CliError(f"which API? {'there are several labs' if names else 'no lab with an API is up'} ({hint})")
    name = lab or names[0]
    if name not in names:
        raise CliError(f"lab {name} has no API here (there are: {', '.join(names) or 'none'})")
    return _run() / name


def _token(file: Path | None, directory: Path | None) -> str:
    given = os.environ.get("OVERCLOS_TOKEN")
    if file is None and given:
        return _checked(given, "OVERCLOS_TOKEN")
    path = file or (directory / OPERATOR_TOKEN if directory else None)
    if path is None:
        raise CliError("no access token (give --token-file FILE, or set OVERCLOS_TOKEN)")
    try:
        return _checked(path.read_text(), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise CliError(f"{path}: {getattr(error, 'strerror', None) or error} (the access token)") from error


def _checked(text: str, where: str) -> str:
    """The token in a text. It is never shown: what is no token may be a secret all the same."""
    if not re.fullmatch("[!-~]+", text.strip()):
        raise CliError(f"{where} does not hold an access token")
    return text.strip()
