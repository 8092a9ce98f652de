"""A lab as a `mininet.net.Mininet`: its API and its prompt on real nodes, freshly built or already running.

    net = LabNet.from_topology(fat_tree(4)); net.start(); net.interact(); net.stop()     # bare fabric, ours to remove
    LabNet.attach("two-tenants").interact()                                              # a running lab, left running
"""

import re
import string
from collections import defaultdict
from ipaddress import ip_interface
from typing import Any, Self

from mininet.cli import CLI
from mininet.log import error, output
from mininet.net import Mininet

from topologies.emulator.errors import EmulatorError
from topologies.emulator.lab import Lab, Progress, silent
from topologies.emulator.nodes import LabHost, LabLink, LabNode, LabServer, LabSwitch
from topologies.emulator.parts import LabPlan, Options
from topologies.emulator.plan import plan

NODE_KINDS = {"host": LabHost, "instance": LabHost, "management": LabHost, "server": LabServer, "switch": LabSwitch}


ONE_SUBNET = "only pairs of one subnet: no others can talk, by design"
IPERF_S = 4  # for what has to be said at once
_SPEED = re.compile(r"[\d.]+ \w+/sec")
PATIENCE_S = 1  # for the answer to a ping between instances


class Names(dict[str, LabNode]):
    """Nodes by name; an instance also by its last words, `web1` for `red.prod.web1`, where only one fits."""

    def __missing__(self, name: str) -> LabNode:
        fitting = self.fitting(name)
        if len(fitting) != 1:
            raise KeyError(name)
        return self[fitting[0]]

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or len(self.fitting(name)) == 1

    def fitting(self, name: object) -> list[str]:
        """Full names that end so. A number is none: in `ping -c 1` nobody means the instance `1`."""
        if not isinstance(name, str) or name.isdigit():
            return []
        return [full for full in self if full.endswith(f".{name}")]

    def lacks(self, name: str) -> str:
        """Why there is no node of that name, in words."""
        fitting = self.fitting(name)
        return f"{name} could be {', '.join(fitting)}" if fitting else f"no such node: {name}"


class LabCli(CLI):  # type: ignore[misc]
    """The `mininet>` prompt, for names with '-' and '.' too. No command ends it but `exit`."""

    identchars = string.ascii_letters + string.digits + "_-."

    @classmethod
    def initReadline(cls) -> None:
        """No history: stock Mininet writes one into the home directory, which is root's."""

    def onecmd(self, line: str) -> Any:
        """A failure is one line; a command that it left running is ended with its shell."""
        try:
            return super().onecmd(line)
        except (Exception, SystemExit) as failure:
            if self.stdin.closed:  # `py exit()`
                return "exited by user command"
            said = (str(failure).splitlines() or [""])[0]
            plain = said and (isinstance(failure, OSError | EmulatorError) or type(failure) is Exception)
            error(f"*** {said if plain else f'{type(failure).__name__} {said}'.strip()}\n")
        for node in self.mn.nameToNode.values():
            if node.waiting:
                node.terminate()
        return None

    def default(self, line: str) -> None:
        """A command for a node."""
        first, names = self.parseline(line)[0], self.mn.nameToNode
        if first and first not in names and names.fitting(first):
            error(f"*** {names.lacks(first)}\n")
        else:
            super().default(line)

    def getLocals(self) -> Any:
        """For `py`: the nodes, instances also by their last word."""
        known = super().getLocals()
        for last in [name.rpartition(".")[2] for name in self.mn]:
            if last in self.mn:
                known.setdefault(last, self.mn[last])
        return known

    def waitForNode(self, node: LabNode) -> None:
        """Print the command's output until it ends. Only a terminal's keys go to the command: of a script on standard
        input the next lines are commands for the prompt."""
        if self.isatty():
            super().waitForNode(node)
        while node.waiting:
            output(node.monitor())


def subnets(instances: list[LabNode]) -> list[list[LabNode]]:
    """Instances that can talk to each other; one that is alone in its subnet is left out."""
    groups: defaultdict[tuple[str, object], list[LabNode]] = defaultdict(list)
    for each in instances:
        intf = each.defaultIntf()
        groups[each.name.rpartition(".")[0], ip_interface(f"{intf.ip}/{intf.prefixLen}").network].append(each)
    return [group for group in groups.values() if len(group) > 1]


def pings(host: LabNode, peer: LabNode, timeout: Any = None) -> bool:
    """Whether the peer answers one ping."""
    sent, received = Mininet._parsePing(host.cmd(f"ping -c1 -W {timeout or PATIENCE_S} {peer.IP()}"))
    return bool(0 < sent <= received)


def iperf_speeds(client: LabNode, server: LabNode, common: str, options: str, seconds: int) -> list[str]:
    """[server's, client's] of one transfer. Nothing here waits without an end, and no foreign iperf is killed: Mininet
    does both. Raises EmulatorError with iperf's own last words."""
    server.sendCmd(f"{common} -s")
    try:
        heard = _hear(server, "listening")
        sent = str(client.cmd(f"timeout {seconds + IPERF_S} {common} {options} -c {server.IP()}"))
        heard += _hear(server, "/sec")
        if server.waiting:
            server.sendInt()
            _hear(server, "never said: until it has ended")
    finally:
        if server.waiting:
            server.terminate()
    found = [_SPEED.findall(text)[-1:] for text in (heard, sent)]
    for node, text, speed in zip((server, client), (heard, sent), found):
        if not speed:
            raise EmulatorError(node.name, "iperf measured nothing", " ".join(text.split()[-12:]))
    return [speed[0] for speed in found]


def _hear(node: LabNode, word: str) -> str:
    """What a running command says until it has said the word, has ended, or is silent for too long."""
    said = ""
    while node.waiting and word not in said:
        more = node.monitor(timeoutms=IPERF_S * 1000)
        if not more and node.waiting:
            break
        said += more
    return said


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
        self.nameToNode: Names = Names()
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
                error(f"*** {self.nameToNode.lacks(name)}\n")
                return
        links = self.linksBetween(self.nameToNode[src], self.nameToNode[dst])
        if not links:
            error(f"*** {src} and {dst} are not connected\n")
        for link in links:
            link.set_up(status == "up")

    def ping(self, hosts: Any = None, timeout: Any = None) -> float:
        """Loss in percent. Of all instances, only those of one subnet ping each other: others cannot talk, and in
        another VPC the same address is another instance."""
        if hosts is not None or not self._tenants:
            return float(super().ping(hosts, timeout))
        sent = got = 0
        output("*** Ping: testing ping reachability\n")
        for group in subnets(self.hosts):
            for host in group:
                answers = [(peer, pings(host, peer, timeout)) for peer in group if peer is not host]
                output(f"{host.name} -> {' '.join(peer.name if answer else 'X' for peer, answer in answers)}\n")
                sent, got = sent + len(answers), got + sum(answer for _, answer in answers)
        loss = 100.0 * (sent - got) / sent if sent else 0.0
        output(f"*** Results: {int(loss)}% dropped ({got}/{sent} received), {ONE_SUBNET}\n")
        return loss

    def pingFull(self, hosts: Any = None, timeout: Any = None) -> list[Any]:
        """Every answer with its times; of all instances as `ping` does."""
        if hosts is not None or not self._tenants:
            return list(super().pingFull(hosts, timeout))
        return [row for group in subnets(self.hosts) for row in super(LabNet, self).pingFull(group, timeout)]

    def pingPair(self) -> float:
        return self.ping(self._pair()[:2])

    def pingPairFull(self) -> list[Any]:
        return self.pingFull(self._pair()[:2])

    def iperf(self, hosts: Any = None, l4Type: str = "TCP", udpBw: str = "10M", *, fmt: str | None = None,
              seconds: int = 5, port: int = 5001) -> list[str]:
        """The speeds that server and client tell; for UDP, before them, the one asked for. Hosts that cannot reach each
        other are an EmulatorError; Mininet would wait forever. Without hosts: the first and the last of all, or of the
        largest subnet."""
        client, server = hosts or (self._pair()[0], self._pair()[-1])
        if self._tenants and all(host in self.hosts for host in (client, server)):
            if not any(client in group and server in group for group in subnets(self.hosts)):
                raise EmulatorError(client.name, f"cannot talk to {server.name}, by design", "they share no subnet")
        if not pings(client, server):
            raise EmulatorError(client.name, f"does not reach {server.name}: no answer to a ping")
        output(f"*** Iperf: testing {l4Type} bandwidth between {client} and {server}\n")
        common = f"iperf -p {port}{' -u' * (l4Type == 'UDP')}{f' -f {fmt}' if fmt else ''}"
        speeds = iperf_speeds(client, server, common, f"-t {seconds}{f' -b {udpBw}' * (l4Type == 'UDP')}", seconds)
        speeds = [udpBw] * (l4Type == "UDP") + speeds
        output(f"*** Results: {speeds}\n")
        return speeds

    @property
    def _tenants(self) -> bool:
        """Whether the hosts are instances."""
        return any(node.kind == "instance" for node in self.lab_plan.nodes)

    def _pair(self) -> list[LabNode]:
        """Hosts that can talk to each other, at least two."""
        found = max(subnets(self.hosts), key=len, default=[]) if self._tenants else self.hosts
        if len(found) < 2:
            raise EmulatorError(self.lab_plan.lab, "there are no two hosts that could talk to each other")
        return list(found)

    def interact(self) -> Any:
        """Start, the prompt, stop."""
        self.start()
        try:
            return LabCli(self)
        finally:
            self.stop()
