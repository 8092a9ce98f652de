"""A lab file as everything the command needs: the fabric's graph, the emulator's plan, the controller's snapshot.

This is where the two halves meet: topologies and controller know nothing of each other, so plain data is handed over
here. Nothing in this module touches the machine.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networkx as nx

from controller.model.allocate import allocate
from controller.model.encapsulation import tenant_mtu
from controller.model.kinds import canonical
from controller.model.snapshot import Intent, Snapshot
from controller.model.tenancy import FIRST_PORT
from controller.model.validate import validate
from controller.northbound import labfile
from scripts.overclos.handover import chassis, fabric
from scripts.overclos.instances import specs
from topologies import spec
from topologies.emulator.errors import PlanError
from topologies.emulator.growth import addresses, settled
from topologies.emulator.openvswitch import resolve_datapath
from topologies.emulator.parts import LabPlan, Options
from topologies.emulator.plan import plan
from topologies.spec import Problem

FIRST_GENERATION = 1


@dataclass(frozen=True, slots=True)
class Description:
    """A valid lab file, worked out in full."""

    name: str
    graph: nx.MultiGraph
    servers: Mapping[str, str]  # server name -> host position
    snapshot: Snapshot
    plan: LabPlan


@dataclass(frozen=True, slots=True)
class Present:
    """A running lab: what exists keeps its numbers, and `retired` ones are not given out yet."""

    plan: LabPlan
    intent: Intent
    retired: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True, slots=True)
class Outline:
    """What a drawing or an export shows: `servers` is None where every host position stands for itself."""

    name: str
    graph: nx.MultiGraph
    servers: Mapping[str, str] | None = None
    instances: tuple[Mapping[str, str], ...] = ()


def outline(path: Path) -> Outline:
    """The lab described by the file at `path`, or the bare fabric where no lab can be made of it and the file has
    neither servers nor tenants. Raises LabFileError as `read` does."""
    document = labfile.load(path)
    data = document.data
    problems = [*document.problems(), *spec.validate(data.get("fabric"))]
    if not problems and not data.keys() & {"servers", "tenants"}:
        graph = spec.build(data["fabric"])
        if spec.lab_obstacle(graph):
            return Outline(document.lab, graph)
    description = read(path)
    intent = description.snapshot.intent
    tenants = {vpc.id: vpc.tenant for vpc in intent.vpcs}
    subnets = {port.instance: port.subnet for port in intent.ports if port.name == FIRST_PORT}
    instances = tuple({"id": one.id, "tenant": tenants[one.vpc], "server": one.server, "subnet": subnets[one.id]}
                      for one in intent.instances)
    return Outline(description.name, description.graph, dict(description.servers), instances)


def read(path: Path, present: Present | None = None) -> Description:
    """The lab described by the file at `path`, as it would be made now, or as `present` would become it. Raises
    LabFileError with all problems of the file."""
    document = labfile.load(path)
    data = document.data
    physical = _physical_problems(data)
    names = None if physical else _server_names(data)
    existing = present.intent if present else Intent()
    tenants = validate(data.get("tenants", {}), names, _mtu(data), existing)
    problems = [*document.problems(), *physical, *tenants]
    if problems:
        raise labfile.LabFileError(document.problems_as_text(problems))
    graph = spec.build(data["fabric"])
    if present:
        graph = settled(graph, present.plan)
    servers = spec.servers(graph, data.get("servers"), addresses(present.plan) if present else {})
    retired = present.retired if present else frozenset()
    intent = allocate(data.get("tenants", {}), list(servers), existing, retired)
    options = _options(data["fabric"])
    try:
        instances = specs(intent, tenant_mtu(options.mtu))
        lab_plan = plan(document.lab, graph, servers, instances, options, present=present.plan if present else None)
    except PlanError as error:
        problem = ("fabric",), f"{error.subject}: {error.message}", error.hint
        raise labfile.LabFileError(document.problems_as_text([problem])) from error
    snapshot = Snapshot(FIRST_GENERATION, fabric(graph, lab_plan.mtu, servers), chassis(lab_plan), intent)
    return Description(document.lab, graph, servers, canonical(snapshot), lab_plan)


def _physical_problems(data: Mapping[str, Any]) -> list[Problem]:
    """What is wrong with fabric and servers, and what of a fabric is too much for a lab."""
    problems = spec.validate(data.get("fabric"), data.get("servers"))
    obstacle = None if problems else spec.lab_obstacle(spec.build(data["fabric"]))
    return [*problems, *([obstacle] if obstacle else [])]


def _options(section: Mapping[str, Any]) -> Options:
    return Options(
        datapath=resolve_datapath(section.get("datapath", "auto")),
        mtu=spec.mtu(section),
        link_rates_mbps=section.get("link_rates_mbps") or {},
    )


def _server_names(data: Mapping[str, Any]) -> list[str]:
    return list(spec.servers(spec.build(data["fabric"]), data.get("servers")))


def _mtu(data: Mapping[str, Any]) -> int:
    """The MTU that the tenants' part is checked against; the fabric's own problems are reported by itself."""
    section = data.get("fabric")
    given = section.get("mtu") if isinstance(section, Mapping) else None
    return given if isinstance(given, int) and not isinstance(given, bool) else spec.DEFAULT_MTU
