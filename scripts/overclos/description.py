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


def read(path: Path, present: Present | None = None) -> Description:
    """The lab described by the file at `path`, as it would be made now, or as `present` would become it. Raises
    LabFileError with all problems of the file."""
    document = labfile.load(path)
    data = document.data
    physical = spec.validate(data.get("fabric"), data.get("servers"))
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
