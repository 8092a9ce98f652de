"""The verbs of `overclos` that talk to the API: what each takes, and what it does.

VERBS is what the command lists; each verb is a function of its arguments that prints, and returns the exit status.
"""

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from controller.northbound import labfile
from controller.northbound.cli import completion, place, render
from controller.northbound.cli.errors import CliError, Refused
from controller.northbound.cli.kinds import KINDS, Json, kind, listed

if TYPE_CHECKING:
    from controller.northbound.cli.client import Client

WAIT_S = 30.0
PENDING, FAILED = 3, 1  # exit status when time is over, or when a switch refused something
Arguments = argparse.Namespace


@dataclass(frozen=True, slots=True)
class ApiVerb:
    """As `scripts.overclos.verbs.Verb`, which the command makes of it."""

    name: str
    help: str
    declare: Callable[[argparse.ArgumentParser], Any]
    run: Callable[[Arguments], int]


def apply(arguments: Arguments) -> int:
    """Sends what a file says of tenants; with --plan only says what it would change."""
    document = labfile.load(arguments.file)
    if document.problems():
        raise labfile.LabFileError(document.problems_as_text(document.problems()))
    try:
        return send(arguments, {"tenants": document.data.get("tenants") or {}})
    except Refused as error:
        raise in_file(document, error) from error


def in_file(document: labfile.Document, refused: Refused) -> Exception:
    """A refusal with the lines of the file that it is about."""
    found = [(tuple(each["path"]), each["message"], each["hint"]) for each in refused.problem.get("errors", ())]
    return labfile.LabFileError(document.problems_as_text(found)) if found else refused


def send(arguments: Arguments, document: Json) -> int:
    """Sends a document: `tenants`, and for an operator `fabric` and `chassis` in the API's form."""
    with _client(arguments) as client:
        if arguments.plan:
            _out(render.plan(client.post("/v1/apply", document, plan="true")))
            return 0
        done = client.post("/v1/apply", document, **_waiting(arguments))
        print(f"{render.totals(done)}; generation {done['generation']}")
        return _verdict(done, arguments.wait)


def get(arguments: Arguments) -> int:
    """Shows objects of a kind."""
    with _client(arguments) as client:
        if arguments.kind == "fabric":
            _out(render.plain(client.get("/v1/fabric"), arguments.output))
            return 0
        of = kind(arguments.kind)
        if arguments.name and (not of.depth or arguments.name.count(".") == of.depth - 1):
            found = client.get(of.path(arguments.name))
            tabular = arguments.output in ("table", "wide")
            _out(render.objects([found], of, arguments.output) if tabular else render.plain(found, arguments.output))
        else:
            _out(render.objects(list(listed(client, of, arguments.name)), of, arguments.output))
    return 0


def delete(arguments: Arguments) -> int:
    """Removes one object."""
    of = kind(arguments.kind)
    if not of.deletable:
        raise CliError(f"{of.name} cannot be removed alone (they go with what they are a part of)")
    cascade = {"cascade": "true"} if arguments.cascade else {}
    waits = _waiting(arguments) if of.name != "tokens" else {}
    with _client(arguments) as client:
        done = client.delete(of.path(arguments.name), **cascade, **waits)
        print(f"{arguments.name} is removed")
        return _verdict(done, arguments.wait)


def wait(arguments: Arguments) -> int:
    """Waits until everything is realised."""
    with _client(arguments) as client:
        generation = {"generation": arguments.generation} if arguments.generation is not None else {}
        found = client.get("/v1/status", wait="realized", timeout=arguments.timeout, **generation)
        print(f"generation {found['generation']}: {found['status']}")
        return _verdict({**found, "error": "; ".join(found["errors"].values()) or None}, True)


def events(arguments: Arguments) -> int:
    """Shows changes of status as they happen, until it is interrupted."""
    with _client(arguments) as client:
        for data in client.events(**({"initial": "true"} if arguments.initial else {})):
            print(json.dumps(data) if arguments.output == "json" else render.events_line(data), flush=True)
    raise CliError("the API ended the stream")


def export(arguments: Arguments) -> int:
    """Prints the running state as the tenants' part of a lab file."""
    with _client(arguments) as client:
        found = client.get("/v1/export")
    _out(render.yaml_text({"tenants": found["tenants"]}) if arguments.output == "yaml" else render.plain(found, "json"))
    return 0


def audit(arguments: Arguments) -> int:
    """Shows who did what; with --verify only whether the log is whole."""
    with _client(arguments) as client:
        if arguments.verify:
            problems = client.get("/v1/audit", limit=1, verify="true")["problems"]
            for problem in problems:
                print(problem)
            print("the audit log is NOT whole" if problems else "the audit log is whole")
            return FAILED if problems else 0
        rows = list(client.all("/v1/audit"))
    _out(render.plain(rows, "json") if arguments.output == "json" else render.audit_rows(rows))
    return 0


def token(arguments: Arguments) -> int:
    """Makes, lists and removes access tokens."""
    with _client(arguments) as client:
        if arguments.action == "list":
            _out(render.objects(list(client.all("/v1/tokens")), KINDS["tokens"], arguments.output))
        elif arguments.action == "create":
            wanted = {"name": arguments.name, "role": arguments.role, "tenant": arguments.tenant}
            made = client.post("/v1/tokens", wanted)
            print(made["token"])
            print(f"token {made['id']} is made; its text above is not shown again", file=sys.stderr)
        else:
            client.delete(KINDS["tokens"].path(arguments.id))
            print(f"token {arguments.id} is removed")
    return 0


def complete(arguments: Arguments) -> int:
    """Prints a script for the shell."""
    _out(completion.script(arguments.shell, arguments.command_line))
    return 0


def _client(arguments: Arguments) -> "Client":
    from controller.northbound.cli.client import Client  # httpx is slow to import, and most verbs do without

    return Client(place.find(arguments))


def _waiting(arguments: Arguments) -> Json:
    return {"wait": "realized", "timeout": arguments.timeout} if arguments.wait else {}


def _verdict(done: Json, waited: bool) -> int:
    """Says what is not realised; the exit status."""
    if not waited:
        return 0
    for text in done.get("waiting", ()):
        print(f"waiting: {text}", file=sys.stderr)
    if done.get("error"):
        print(f"error: {done['error']}", file=sys.stderr)
    return {"pending": PENDING, "error": FAILED}.get(done.get("status", ""), 0)


def _out(text: str) -> None:
    sys.stdout.write(text)


def _declare_wait(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--wait", action="store_true", help="return when every switch concerned has confirmed")
    _declare_timeout(parser)
    place.declare(parser)


def _declare_timeout(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--timeout", type=float, default=WAIT_S, metavar="S", help="longest wait in seconds")


def declare_apply(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="lab file (YAML)")
    parser.add_argument("--plan", action="store_true", help="only say what would change")
    _declare_wait(parser)


def _declare_get(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", metavar="KIND", help=", ".join([*KINDS, "fabric"]))
    inside = "id of one (red.prod.web1), or of the tenant or VPC whose objects are shown (red.prod)"
    parser.add_argument("name", nargs="?", metavar="NAME", help=inside)
    parser.add_argument("-o", "--output", choices=render.FORMS, default="table")
    place.declare(parser)


def _declare_delete(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", metavar="KIND", help=", ".join(name for name, of in KINDS.items() if of.deletable))
    parser.add_argument("name", metavar="NAME", help="id, as in red.prod.web1")
    parser.add_argument("--cascade", action="store_true", help="also remove what is in it or uses it")
    _declare_wait(parser)


def _declare_until(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--generation", type=int, metavar="N", help="default: the newest")
    _declare_timeout(parser)
    place.declare(parser)


def _declare_events(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--initial", action="store_true", help="begin with the present status of every object")
    parser.add_argument("-o", "--output", choices=("lines", "json"), default="lines")
    place.declare(parser)


def _declare_export(parser: argparse.ArgumentParser) -> None:
    all_of_it = "yaml: the tenants of a lab file; json: all there is, as `POST /v1/apply` takes it"
    parser.add_argument("-o", "--output", choices=("yaml", "json"), default="yaml", help=all_of_it)
    place.declare(parser)


def _declare_audit(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--verify", action="store_true", help="check that no row was changed, removed or moved")
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table")
    place.declare(parser)


def _declare_token(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    create = actions.add_parser("create", help="make a token and print its text, once")
    create.add_argument("name", metavar="NAME", help="what it is for")
    create.add_argument("--role", required=True, choices=("operator", "tenant-admin", "tenant-reader"))
    create.add_argument("--tenant", metavar="TENANT", help="whose, for the roles of tenants")
    place.declare(create)
    shown = actions.add_parser("list", help="all tokens, without their texts")
    shown.add_argument("-o", "--output", choices=render.FORMS, default="table")
    place.declare(shown)
    remove = actions.add_parser("delete", help="remove a token: it stops working at once")
    remove.add_argument("id", metavar="ID")
    place.declare(remove)


def _declare_completion(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=completion.SHELLS)
    parser.epilog = completion.EPILOG


VERBS = (
    ApiVerb("apply", "make the running network what a file says", declare_apply, apply),
    ApiVerb("get", "show objects and their status", _declare_get, get),
    ApiVerb("delete", "remove an object", _declare_delete, delete),
    ApiVerb("wait", "wait until all is realised", _declare_until, wait),
    ApiVerb("events", "show changes of status as they happen", _declare_events, events),
    ApiVerb("export", "print the running state as a lab file", _declare_export, export),
    ApiVerb("audit", "show who did what; --verify proves that the log is whole", _declare_audit, audit),
    ApiVerb("token", "make, list and remove access tokens", _declare_token, token),
    ApiVerb("completion", "print completion for a shell", _declare_completion, complete),
)
