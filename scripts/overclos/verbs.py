"""The verbs of the command line: their arguments, and what each calls."""

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from controller.model.document import document
from controller.northbound import labfile
from controller.northbound.cli import render
from controller.northbound.cli import verbs as api
from scripts.overclos import cabling, changing, checking, daemon, entropy, intent, lifecycle, prove, report, show
from scripts.overclos.progress import Progress
from topologies.emulator import doctor
from topologies.emulator.lab import Lab, down, labs

PASS, FAIL, NOTHING_TO_TEST, NOT_READY = 0, 1, 2, 3  # exit status of `test` and `run`
COMMAND_NOT_FOUND, SIGNALLED = 127, 128  # as shells have it
WIDE = 160  # columns of a report that goes to no terminal

STATUSES = (
    "Exit status: 0 every verdict is as expected, 1 one is not, 2 nothing to test, 3 the lab is not ready or the "
    "probes could not run."
)

AGENT = (
    "The agent is a daemon of the lab. It makes and removes instances as the store says, also those that came over the "
    "API, and starts again what dies: store, API, controller, Open vSwitches. `up` and `apply` start it; nothing else "
    "needs it. What it did is in agent.log of the lab's run directory, what it cannot do in `overclos status`."
)

Arguments = argparse.Namespace


class _Help(argparse.ArgumentDefaultsHelpFormatter):
    """Tells defaults, where there are any."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        return action.help if action.default in (None, False) else super()._get_help_string(action)


@dataclass(frozen=True, slots=True)
class Verb:
    """`failure` is the exit status when the verb could not do its work."""

    name: str
    help: str
    declare: Callable[[argparse.ArgumentParser], Any]
    run: Callable[[Arguments], int]
    failure: int = 1
    needs_root: bool = True
    epilog: str = ""

    def add(self, verbs: Any) -> None:
        about = self.help[:1].upper() + self.help[1:] + "."
        parser = verbs.add_parser(
            self.name, help=self.help, description=about, epilog=self.epilog, formatter_class=_Help
        )
        self.declare(parser)
        parser.set_defaults(run=self.run, failure=self.failure, needs_root=self.needs_root)


def _up(arguments: Arguments) -> int:
    lifecycle.up(arguments.file, Progress(arguments.quiet), arguments.timeout)
    return 0


def _down(arguments: Arguments) -> int:
    names = [arguments.lab] if arguments.lab else labs()
    if len(names) > 1 and not arguments.all:
        names = [lifecycle.only_lab()]
    for name in names:
        if not down(name, Progress()):
            print(f"no lab {name} is here", file=sys.stderr)
    return 0


def _run(arguments: Arguments) -> int:
    _writable(arguments.junit)
    progress = Progress(arguments.quiet)
    lab = lifecycle.up(arguments.file, progress, arguments.timeout)
    try:
        return _prove(lab, arguments, progress)
    finally:
        if arguments.keep:
            progress(f"lab {lab.name} is left running: overclos cli, overclos test, overclos down")
        else:
            lab.down(progress)


def _test(arguments: Arguments) -> int:
    _writable(arguments.junit)
    progress = Progress(arguments.quiet)
    lab = lifecycle.choose(arguments.lab)
    lifecycle.await_ready(lab, arguments.timeout)
    return _prove(lab, arguments, progress)


def _prove(lab: Lab, arguments: Arguments, progress: Progress) -> int:
    document, result = prove.run(lab.plan, lifecycle.snapshot(lab), progress)
    found = report.load(document, result)
    if arguments.format == "json":
        print(report.to_json(found))
    else:
        report.render(found, _console())
    if arguments.junit:
        arguments.junit.write_text(report.to_junit(found))
    return NOTHING_TO_TEST if not found.rows else PASS if found.passed else FAIL


def _writable(file: Path | None) -> None:
    """Complain about a file that cannot be written before the work for it is done, not after."""
    if file:
        file.touch()


def _apply(arguments: Arguments) -> int:
    """On a lab of this machine all of the file; over the API, which knows no emulator, its tenants."""
    name = arguments.lab or labfile.load(arguments.file).lab
    if arguments.api or name not in labs():
        return api.apply(arguments)
    progress = Progress()
    lab = lifecycle.choose(name)
    if not arguments.plan:
        _start_agent(lab)
    proposal = changing.propose(lab, arguments.file)
    if not proposal:
        print("nothing to change")
        return 0
    for line in changing.describe(proposal) if arguments.plan else ():
        print(line)
    return 0 if arguments.plan else _change(proposal, arguments, progress)


def _change(proposal: changing.Proposal, arguments: Arguments, progress: Progress) -> int:
    changes, generation = changing.carry_out(proposal, arguments.file, progress)
    lab = Lab.attach(proposal.lab.name)
    progress(f"waiting until every switch has confirmed generation {generation}")
    lifecycle.await_ready(lab, arguments.timeout)
    (lab.directory / lifecycle.LAB_FILE).write_bytes(arguments.file.read_bytes())
    found = report.load(*changing.probe(lab, lifecycle.snapshot(lab), changes, progress))
    print(f"generation {generation}; {report.headline(found)}")
    for line in report.failure_lines(found):
        print(line)
    return FAIL if found.passed is False else PASS


def _agent(arguments: Arguments) -> int:
    if not _start_agent(lifecycle.choose(arguments.lab)):
        print("it runs")
    return 0


def _start_agent(lab: Lab) -> bool:
    started = lifecycle.start(lab, intent.AGENT)
    if started:
        print(f"the agent of {lab.name} is started", file=sys.stderr)
    return started


def _export(arguments: Arguments) -> int:
    """Of a lab of this machine the whole file; over the API, which knows no fabric's kind, its tenants."""
    if arguments.api or arguments.output != "yaml" or not labs():
        return api.export(arguments)
    lab = lifecycle.choose(arguments.lab)
    data = labfile.load(lab.directory / lifecycle.LAB_FILE).data
    tenants = document(lifecycle.snapshot(lab).intent)
    print(render.yaml_text({"lab": lab.name, **data, "tenants": tenants}), end="")
    return 0


def _status(arguments: Arguments) -> int:
    names = [arguments.lab] if arguments.lab else labs()
    found = [show.state(lifecycle.choose(name)) for name in names]
    if arguments.format == "json":
        print(json.dumps(found, indent=2, sort_keys=True))
    elif not found:
        print("no lab is up (overclos up FILE)")
    else:
        for each in found:
            show.print_state(each, _console())
    return 0 if all(show.healthy(each) for each in found) else 1


def _inspect(arguments: Arguments) -> int:
    data = show.inspection(arguments.lab)
    if arguments.format == "json":
        print(json.dumps(data, indent=2, sort_keys=True))
    else:
        show.print_inspection(data, _console())
    return 0


def _exec(arguments: Arguments) -> int:
    lab = lifecycle.choose(arguments.lab)
    command = arguments.command[1:] if arguments.command[:1] == ["--"] else arguments.command
    try:
        status = lab.exec(lifecycle.node(lab, arguments.node), command or ["bash"])
        return status if status >= 0 else SIGNALLED - status
    except FileNotFoundError:
        print(f"overclos: {command[0]}: command not found", file=sys.stderr)
        return COMMAND_NOT_FOUND


def _cli(arguments: Arguments) -> int:
    from topologies.emulator.network import LabNet  # Mininet is slow to import, and only this verb needs it

    LabNet.attach(lifecycle.choose(arguments.lab)).interact()
    return 0


def _graph(arguments: Arguments) -> int:
    text = show.drawing(arguments.lab, arguments.format)
    if arguments.output:
        arguments.output.write_text(text)
    else:
        print(text, end="")
    return 0


def _cables(arguments: Arguments) -> int:
    return FAIL if cabling.tell(arguments.lab, arguments.observed) else PASS


def _entropy(arguments: Arguments) -> int:
    found = entropy.measure(lifecycle.choose(arguments.lab), arguments.source, arguments.target, arguments.queue_pairs)
    if arguments.format == "json":
        print(json.dumps(found, indent=2))
    else:
        entropy.render(found, _console())
    return PASS if entropy.whole(found) else FAIL


def _doctor(arguments: Arguments) -> int:
    found = doctor.checks()
    if arguments.format == "json":
        print(json.dumps([asdict(each) for each in found], indent=2))
    else:
        show.print_checks(found, _console())
    return 0 if all(each.ok is not False for each in found) else 1


def _controller(arguments: Arguments) -> int:
    if arguments.check is None:
        daemon.run(arguments.fabric, arguments.rest)
    found = checking.check(arguments.check)
    if arguments.format == "json":
        print(json.dumps(found, indent=2, sort_keys=True))
    else:
        checking.show(found, _console())
    return PASS if found["ok"] else FAIL


def _console() -> Console:
    console = Console(highlight=False, soft_wrap=False)
    return console if console.is_terminal else Console(highlight=False, width=WIDE)


def _seconds(text: str) -> float:
    seconds = float(text)
    if seconds <= 0:
        raise argparse.ArgumentTypeError("must be more than 0")
    return seconds


def _declare_up(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="lab file (YAML)")
    seconds = "seconds to wait until every switch has its flows"
    parser.add_argument("--timeout", type=_seconds, default=lifecycle.READY_S, metavar="S", help=seconds)
    parser.add_argument("--quiet", action="store_true", help="no progress lines")


def _declare_lab(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("lab", nargs="?", metavar="LAB", help="name of a lab; the only one that is up if left out")


def _declare_report(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=("table", "json"), default="table", help="what to print")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="also write the verdicts as JUnit XML")


def _declare_run(parser: argparse.ArgumentParser) -> None:
    _declare_up(parser)
    _declare_report(parser)
    parser.add_argument("--keep", action="store_true", help="leave the lab running afterwards")


def _declare_test(parser: argparse.ArgumentParser) -> None:
    _declare_lab(parser)
    _declare_report(parser)
    help_ = "seconds to wait until all is ready"
    parser.add_argument("--timeout", type=_seconds, default=10.0, metavar="S", help=help_)
    parser.add_argument("--quiet", action="store_true", help="no progress lines")


def _declare_down(parser: argparse.ArgumentParser) -> None:
    _declare_lab(parser)
    parser.add_argument("--all", action="store_true", help="every lab of this machine")


def _declare_shown(parser: argparse.ArgumentParser) -> None:
    _declare_lab(parser)
    _declare_table(parser)


def _declare_inspect(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("lab", nargs="?", metavar="LAB|FILE", help="a running lab, or a lab file (nothing is built)")
    _declare_table(parser)


def _declare_table(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=("table", "json"), default="table", help="for people or for machines")


def _declare_exec(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--lab", metavar="LAB", help="name of the lab; the only one that is up if left out")
    nodes = "a server, an instance (red.prod.web1, or just web1), a switch, fabric, mgmt"
    parser.add_argument("node", metavar="NODE", help=nodes)
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="-- CMD", help="default: a shell")


def _declare_graph(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("lab", nargs="?", metavar="LAB|FILE", help="a running lab, or a lab file")
    parser.add_argument("--format", choices=tuple(show.FORMATS), default="svg", help="a picture, or data")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="instead of standard output")


def _declare_controller(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--fabric", type=daemon.plain_fabric, metavar="KIND,N",
        help="run a plain fabric under stock Mininet: fattree,4 or leafspine,4,2,2",
    )  # fmt: skip
    parser.add_argument(
        "--check", nargs="?", const="", metavar="LAB",
        help="ask the running daemon of a lab (or the one with this status socket, a path) to prove itself: its flows "
        "against compiling from scratch, and every switch's flows against its own; changes nothing",
    )  # fmt: skip
    parser.add_argument("--format", choices=("table", "json"), default="table", help="of what --check prints")
    parser.epilog = (
        "Exit status of --check: 0 every switch was read and nothing differs, 1 otherwise. "
        "Everything else goes to the daemon, which takes every ryu-manager flag and further Ryu applications; "
        "see python -m controller.launcher --help."
    )
    parser.set_defaults(rest=[])


ON_A_LAB = {"apply": _apply, "export": _export}  # where these can do more than over the API

VERBS = (
    Verb("run", "bring a lab up, test it, bring it down", _declare_run, _run, NOT_READY, epilog=STATUSES),
    Verb("up", "bring a lab up and leave it running", _declare_up, _up),
    Verb("down", "remove a lab to the last trace", _declare_down, _down),
    Verb("status", "tell whether everything is as it should be", _declare_shown, _status),
    Verb("inspect", "list all addresses, MACs, VNIs, datapath ids", _declare_inspect, _inspect, needs_root=False),
    Verb("exec", "run a command in a server, instance or switch", _declare_exec, _exec),
    Verb("test", "prove with real packets who reaches whom", _declare_test, _test, NOT_READY, epilog=STATUSES),
    Verb("cli", "the mininet> prompt on a running lab", _declare_lab, _cli),
    Verb("graph", "draw fabric and tenants, or export them", _declare_graph, _graph, needs_root=False),
    Verb("cables", "print the cable plan, or tell which cables are not so", cabling.declare, _cables, needs_root=False,
         epilog="Exit status: 0 all is as planned, 1 it is not."),
    Verb("entropy", "tell over how many links RoCEv2 spreads", entropy.declare, _entropy,
         epilog="Exit status: 0 every frame arrived with its ICRC intact, 1 one did not."),
    Verb("doctor", "tell what this machine can and cannot do", _declare_table, _doctor, needs_root=False),
    Verb("agent", "start the lab's agent if it does not run", _declare_lab, _agent, epilog=AGENT),
    Verb("controller", "run the controller daemon", _declare_controller, _controller, needs_root=False),
    *(
        Verb(each.name, each.help, each.declare, ON_A_LAB.get(each.name, each.run), needs_root=False)
        for each in api.VERBS
    ),
)
