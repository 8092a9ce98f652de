"""A lab with its agent, for tests that change it over the API and kill parts of it."""

import signal
from typing import Any

from lab_fixture import overclos
from ovs_fixture import until

from controller.northbound.cli.client import Client
from controller.northbound.cli.place import Address
from controller.northbound.store import StoreError
from scripts.overclos import intent, lifecycle, ready
from scripts.overclos.agent import told
from topologies.emulator import build, instances, journal, namespaces, openvswitch
from topologies.emulator.lab import Lab
from topologies.emulator.processes import Process

FOUR = """\
lab: {name}
fabric: {{kind: leaf-spine, leaves: 2, spines: 2, servers_per_leaf: 2}}
tenants:
  red:
    vpcs:
      prod:
        subnets: {{web: {{cidr: 10.1.0.0/24}}}}
        instances:
          a: {{subnet: web, ip: 10.1.0.10, server: server-1}}
          b: {{subnet: web, ip: 10.1.0.11, server: server-3}}
  blue:
    vpcs:
      prod:
        subnets: {{web: {{cidr: 10.1.0.0/24}}}}
        instances:
          a: {{subnet: web, ip: 10.1.0.10, server: server-2}}
          b: {{subnet: web, ip: 10.1.0.11, server: server-4}}
"""
PAIRS = (("red.prod.a", "10.1.0.11"), ("blue.prod.b", "10.1.0.10"))  # the first concerns server-1 and server-3
RED = "/v1/tenants/red/vpcs/prod/instances"


def client(lab: Lab) -> Client:
    """As the operator."""
    token = (lab.directory / lifecycle.OPERATOR_TOKEN).read_text().strip()
    return Client(Address(f"unix:{intent.api_socket(lab)}", token))


def make(lab: Lab, name: str, wait: bool = True, **more: str) -> dict[str, Any]:
    """An instance of red over the API; what the API says of it."""
    with client(lab) as api:
        waiting = {"wait": "realized", "timeout": 30} if wait else {}
        return api.post(RED, {"name": name, "subnet": "web", **more}, **waiting)


def remove(lab: Lab, name: str) -> None:
    """The instance of red over the API, and wait until its namespace is gone."""
    with client(lab) as api:
        api.delete(f"{RED}/{name}")
    until(lambda: not there(lab, f"red.prod.{name}"), f"{name} is gone")


def there(lab: Lab, instance: str) -> bool:
    """Whether the instance has a namespace."""
    return namespaces.exists(f"oc.{lab.name}.{instance}")


def process(lab: Lab, name: str) -> Process:
    """Of a daemon (`api`), or of an Open vSwitch (`server-1/ovs-vswitchd`); waits until it runs."""

    def found() -> Process | None:
        if "/" not in name:
            daemon = lab.daemons().get(name)
            return daemon.process if daemon and daemon.process and daemon.process.alive() else None
        node, _, program = name.partition("/")
        switch = next(switch for switch in lab.plan.switches if switch.node == node)
        return openvswitch.running(switch, build.switch_directory(lab.directory, switch)).get(program)

    try:
        alive: Process = until(found, f"{name} runs", 40)
    except AssertionError as error:
        error.add_note((lab.directory / "agent.log").read_text()[-3000:])
        raise
    return alive


def kill(lab: Lab, name: str) -> Process:
    """kill -9; the process that was."""
    victim = process(lab, name)
    victim.signal(signal.SIGKILL)
    return victim


def await_another(lab: Lab, name: str, before: Process) -> None:
    """Wait until another process has taken its place."""
    until(lambda: process(lab, name) != before, f"{name} is started again", 40)


def await_settled(lab: Lab) -> Lab:
    """The lab once the agent has made all that is in the store, and every switch has confirmed it."""

    def settled() -> Lab | None:
        generation = lifecycle.snapshot(lab).generation
        said, status = told.heard(lab.directory), ready.status(intent.status_socket(lab))
        if status is None or not status["ready"] or status["generation"] < generation:
            return None
        return Lab.attach(lab.name) if said.generation == generation and not said.problems else None

    def tried() -> Lab | None:
        try:
            return settled()
        except StoreError:  # it is being started again
            return None

    now: Lab = until(tried, f"all is made: {told.heard(lab.directory)}", 60)
    return now


def assert_as_stored(lab: Lab) -> None:
    """The instances of the emulator are those of the store, in name and in deed, and `status` finds nothing wrong."""
    stored = {one.id for one in lifecycle.snapshot(lab).intent.instances}
    assert {one.id for one in instances.of(lab.plan)} == stored
    pinned = {path.name.removeprefix(f"oc.{lab.name}.") for path in namespaces.DIRECTORY.glob(f"oc.{lab.name}.*.*.*")}
    assert pinned == stored
    record = journal.read(lab.name)
    assert record and record.state == journal.UP
    done = overclos("status", lab.name)
    assert done.returncode == 0, done.stdout + done.stderr
