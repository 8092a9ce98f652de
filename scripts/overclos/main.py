"""The `overclos` command: labs of multi-tenant GPU clusters on one machine, and the controller that runs them."""

import argparse
import os
import signal
import sys
from importlib.metadata import version
from typing import NoReturn

from controller.northbound.cli.errors import CliError
from controller.northbound.labfile import LabFileError
from controller.northbound.store import StoreError
from scripts.overclos.failure import Failure
from topologies.emulator.errors import EmulatorError

EPILOG = """\
a first lab:
  overclos run examples/two-tenants.yaml        up, test, down
  overclos up examples/two-tenants.yaml         leave it running, then:
  overclos exec red.prod.web1 -- ping -c 3 10.1.0.11
  overclos cli                                  the mininet> prompt
  overclos test                                 prove that tenants are isolated
  overclos down
"""


def parser() -> argparse.ArgumentParser:
    """The command line, verb by verb."""
    from scripts.overclos.verbs import VERBS  # takes a second, in which Ctrl-C must end quietly too

    top = argparse.ArgumentParser(
        prog="overclos", description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    top.add_argument("--version", action="version", version=f"overclos {version('overclos')}")
    verbs = top.add_subparsers(dest="verb", required=True, metavar="VERB")
    for verb in VERBS:
        verb.add(verbs)
    top.set_defaults(command_line=top)  # for `completion`, which is made from it
    return top


def main(argv: list[str] | None = None) -> int:
    """Run one verb; the exit status is its own. Errors are one line each on standard error, never a traceback."""
    try:
        return _run(parser(), argv)
    except KeyboardInterrupt:
        return _fail("overclos: interrupted", status=130)


def _run(command_line: argparse.ArgumentParser, argv: list[str] | None) -> int:
    arguments, rest = command_line.parse_known_args(argv)
    if rest and not hasattr(arguments, "rest"):
        command_line.error(f"unknown arguments: {' '.join(rest)}")
    arguments.rest = rest
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    if arguments.needs_root and os.geteuid() != 0:
        return _fail(f"overclos: {arguments.verb} needs root: use sudo", arguments.failure)
    try:
        return int(arguments.run(arguments))
    except LabFileError as error:
        return _fail(str(error), status=arguments.failure)
    except CliError as error:
        return _fail("\n".join(f"overclos: {line}" for line in str(error).splitlines()), status=arguments.failure)
    except (EmulatorError, Failure, StoreError) as error:
        return _fail(f"overclos: {error}", status=arguments.failure)
    except BrokenPipeError:
        sys.stderr.close()
        return 141
    except OSError as error:
        return _fail(f"overclos: {error.filename or error}: {error.strerror}", status=arguments.failure)


def _interrupt(*_: object) -> NoReturn:
    """SIGTERM and a closed terminal roll back as Ctrl-C does, which works also where the shell had it ignored."""
    raise KeyboardInterrupt


def _fail(text: str, status: int) -> int:
    print(text, file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
