"""A lab as a `mininet.net.Mininet`: its API and its prompt on real nodes, freshly built or already running.

    net = LabNet.from_topology(fat_tree(4)); net.start(); net.interact(); net.stop()     # bare fabric, ours to remove
    LabNet.attach("two-tenants").interact()                                              # a running lab, left running
"""

import string
from collections import defaultdict
from typing import Any, Self

from mininet.cli import CLI
from mininet.log import error, output
from mininet.net import Mininet

from topologies.emulator.lab import Lab, Progress, silent
from topologies.emulator.nodes import LabHost, LabLink, LabNode, LabServer, LabSwitch
from topologies.emulator.parts import LabPlan, Options
from topologies.emulator.plan import plan

NODE_KINDS = {"host": LabHost, "instance": LabHost, "management": LabHost, "server": LabServer, "switch": LabSwitch}


class LabCli(CLI):  # type: ignore[misc]
    """The `mininet>` prompt, for names with '-' and '.' too."""

    identchars = string.ascii_letters + string.digits + "_-."

    def waitForNode(self, node: LabNode) -> None:
        """Print the command's output until it ends. Only a terminal's keys go to the command: of a script on standard
        input the next lines are commands for the prompt."""
        if self.isatty():
            super().waitForNode(node)
        while node.waiting:
            output(node.monitor())


class LabNet(Mininet):  # type: ignore[misc]
    """The network of a lab. Hosts are the instances, or the hosts of a bare fabric; servers count as switches."""

    def __init__(self, lab_plan: LabPlan, lab: Lab | None = None, progress: Progress = silent) -> None:
        """With `lab` the network is that running lab and `stop` leaves it running; without, `start` creates it and
        `stop` removes it."""
        self.lab_plan, self.lab, self.progress = lab_plan, lab, progress
        self.owner = lab is None
        # Mininet's own preparation rewrites a dozen sysctls of the machine; none is needed here.
        before, Mininet.inited = Mininet.inited, True
        try:
            super().__init__(topo=None, switch=LabSwitch, host=LabHost, controller=None, link=LabLink, build=False)
        finally:
            Mininet.inited = before
        if lab:
            self.build()

    @classmethod
    def from_topology(cls, graph: Any, lab: str = "bare", options: Options = Options(controller_port=None),
                      progress: Progress = silent) -> Self:
        """A bare fabric: a namespace with an address for every host position, one Open vSwitch, no controller."""
        return cls(plan(lab, graph, {}, (), options), progress=progress)

    @classmethod
    def attach(cls, lab: Lab | str) -> Self:
        """The network of a running lab, by whatever process it was made."""
        running = Lab.attach(lab) if isinstance(lab, str) else lab
        return cls(running.plan, running)

    def build(self) -> None:
        """Make the Python objects for all nodes and cables of the lab."""
        if self.lab is None:
            raise ValueError("start() the network: its lab does not exist yet")
        for node in self.lab_plan.nodes:
            if node.kind in NODE_KINDS:
                self._add(NODE_KINDS[node.kind](node.name, self.lab), node.kind)
        for cable in self.lab_plan.cables:
            if cable.tier != "management":  # out of band: no part of the network that the prompt shows
                self.links.append(LabLink(cable, self.nameToNode[cable.a.node], self.nameToNode[cable.b.node]))
        self.built = True

    def _add(self, node: LabNode, kind: str) -> None:
        self.nameToNode[node.name] = node
        if isinstance(node, LabSwitch):
            self.switches.append(node)
        elif kind != "management":
            self.hosts.append(node)

    def start(self) -> None:
        """Create the lab if it is not there. A running one is left as it is."""
        if self.lab is None:
            self.lab = Lab.create(self.lab_plan, self.progress)
        if not self.built:
            self.build()

    def stop(self) -> None:
        """End the shells; remove the lab if this network created it."""
        if self.terms:
            self.stopXterms()
        for node in self.hosts + self.switches:
            node.terminate()
        if self.owner and self.lab:
            self.lab.down(self.progress)
            self.lab = None

    def configLinkStatus(self, src: str, dst: str, status: str) -> None:
        """Plug (`up`) or pull (`down`) all cables between two nodes."""
        for name in (src, dst):
            if name not in self.nameToNode:
                error(f"no such node: {name}\n")
                return
        links = self.linksBetween(self.nameToNode[src], self.nameToNode[dst])
        if not links:
            error(f"{src} and {dst} are not connected\n")
        for link in links:
            link.set_up(status == "up")

    def ping(self, hosts: Any = None, timeout: Any = None) -> float:
        """Loss in percent, of several VPCs the largest. Of all hosts, only those of one VPC ping each other: elsewhere
        the same address is another instance."""
        if hosts is not None:
            return float(super().ping(hosts, timeout))
        groups: defaultdict[str, list[LabNode]] = defaultdict(list)
        for host in self.hosts:
            groups[host.name.rpartition(".")[0]].append(host)
        together = [group for group in groups.values() if len(group) > 1]
        return max((float(super(LabNet, self).ping(group, timeout)) for group in together), default=0.0)

    def interact(self) -> Any:
        """Start, the prompt, stop."""
        self.start()
        try:
            return LabCli(self)
        finally:
            self.stop()
