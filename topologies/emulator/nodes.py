"""Mininet's nodes, interfaces and links over what a lab has already made: nothing here changes the kernel by itself.

A node's shell starts with its first command, so a network of hundreds of nodes costs no process.
"""

import fcntl
import os
import socket
import struct
import subprocess
from typing import TYPE_CHECKING, Any

from mininet.link import Intf, Link
from mininet.node import Node, Switch

from topologies.emulator import namespaces
from topologies.emulator.parts import Cable, End

if TYPE_CHECKING:
    from topologies.emulator.lab import Lab

SIOCGIFFLAGS, SIOCSIFFLAGS = 0x8913, 0x8914  # linux/sockios.h
_IFF_UP, _IFF_RUNNING = 0x1, 0x40
_FLAGS = struct.Struct("16sH22x")
SWITCH_PROTOCOLS = "OpenFlow13,OpenFlow14"


class LabNode(Node):  # type: ignore[misc]
    """A node in a namespace of the lab; its commands run there. The shell is started when it is first needed."""

    def __init__(self, name: str, lab: "Lab", **params: Any) -> None:
        self.lab = lab
        self.netns = lab.plan.node(name).netns
        self._lazy = True
        super().__init__(name, **params)

    @classmethod
    def checkSetup(cls) -> None:
        """Nothing to check: the lab is there. (Mininet would look for the machine's own Open vSwitch.)"""

    def startShell(self, mnopts: str | None = None) -> None:
        if not self._lazy:
            self.inNamespace = False  # the process is started in the namespace: mnexec must not make another
            super().startShell(mnopts)
            # Mininet keeps our end of the shell's terminal open, and would wait forever for a shell that has ended.
            null = os.open(os.devnull, os.O_RDWR)
            os.dup2(null, self.slave, inheritable=False)
            os.close(null)

    def sendCmd(self, *args: Any, **kwargs: Any) -> Any:
        self._need_shell()
        return super().sendCmd(*args, **kwargs)

    def cmd(self, *args: Any, **kwargs: Any) -> Any:
        self._need_shell()
        return super().cmd(*args, **kwargs)

    def popen(self, *args: Any, **kwargs: Any) -> Any:
        return super().popen(*args, **{"mncmd": ["mnexec", "-d"], **kwargs})

    def terminate(self) -> None:
        """End the shell, if there is one; the next command gets a new one."""
        super().terminate()
        self._lazy, self.waiting, self.readbuf = True, False, ""

    def monitor(self, timeoutms: float | None = None, findPid: bool = True) -> str:
        """The output since the last call. A shell that has ended (`web1 exit`) has nothing more to say."""
        try:
            return str(super().monitor(timeoutms, findPid))
        except OSError:
            self.terminate()
            return ""

    def __repr__(self) -> str:
        about = ",".join(f"{intf}:{intf.IP()}" for intf in self.intfList())
        return f"<{type(self).__name__} {self.name}: {about} pid={self.pid}> "

    def _need_shell(self) -> None:
        if self.shell is None:
            self._lazy = False
            self.startShell()

    def _popen(self, cmd: list[str], **params: Any) -> Any:
        environment = {**os.environ, **self.lab.environ(self.name), **(params.pop("env", None) or {})}
        with namespaces.entered(self.netns):
            return super()._popen(cmd, env=environment, **params)


class LabHost(LabNode):
    """A host of a bare fabric, an instance, or the controller's side of the management network."""


class LabSwitch(LabNode, Switch):  # type: ignore[misc]
    """A fabric switch: a bridge of the lab's Open vSwitch. Stopping it takes the carrier off all its cables."""

    controlIntf = None  # as for every Mininet switch in a namespace

    def __init__(self, name: str, lab: "Lab", **params: Any) -> None:
        self.bridges = [bridge for bridge in lab.plan.switch_of(name).bridges if bridge.node == name]
        super().__init__(name, lab, dpid=f"{self.bridges[0].dpid:016x}", **params)

    def start(self, controllers: Any = ()) -> None:
        """Plug in all cables; the switch's controller is the lab's."""
        self._plug(True)

    def stop(self, deleteIntfs: bool = False) -> None:
        """Pull all cables. Ports keep their numbers, flows stay."""
        self._plug(False)

    def dpctl(self, *args: str) -> str:
        """What `ovs-ofctl` says about each bridge of the node."""
        answers = []
        for bridge in self.bridges:
            command = ["ovs-ofctl", "-O", SWITCH_PROTOCOLS, args[0], bridge.device, *args[1:]]
            done = self.lab.spawn(self.name, command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            answers.append(done.communicate()[0])
        return "".join(answers)

    def connected(self) -> bool:
        """Whether every bridge has its controller."""
        command = ["ovs-vsctl", "--no-wait", "--bare", "--columns=is_connected", "list", "Controller"]
        done = self.lab.spawn(self.name, command, stdout=subprocess.PIPE, text=True)
        return "false" not in done.communicate()[0]

    def _plug(self, up: bool) -> None:
        for intf in self.intfList():
            if isinstance(intf.link, LabLink):
                intf.link.set_up(up)


class LabServer(LabSwitch):
    """A server: two bridges of its own Open vSwitch. Its address at the prompt is its VTEP's."""

    def __init__(self, name: str, lab: "Lab", **params: Any) -> None:
        super().__init__(name, lab, **params)
        vtep = lab.plan.switch_of(name).vtep
        if vtep:
            VtepIntf(vtep.bridge, node=self, port=0, moveIntfFn=_stay).ip = vtep.address


def _stay(_device: str, _node: Node) -> None:
    """Where Mininet would move a device into its namespace: it was made there."""


class VtepIntf(Intf):  # type: ignore[misc]
    """The local port of a server's underlay bridge."""

    def config(self, **_params: Any) -> dict[str, Any]:
        """Nothing: the device is configured."""
        return {}

    def updateIP(self) -> str | None:
        return str(self.ip) if self.ip else None

    def isUp(self, setUp: bool = False) -> bool:
        """What the kernel says now; with `setUp` after setting the device up."""
        flags = self._flags(_IFF_UP if setUp else 0)
        return flags is not None and bool(flags & _IFF_UP)

    def status(self) -> str:
        """OK, DOWN, NO-CARRIER (the other end is down) or MISSING."""
        flags = self._flags()
        if flags is None:
            return "MISSING"
        return "DOWN" if not flags & _IFF_UP else "OK" if flags & _IFF_RUNNING else "NO-CARRIER"

    def _flags(self, more: int = 0) -> int | None:
        """The device's flags, after setting `more` of them; None if there is no such device."""
        with namespaces.entered(self.node.netns), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel:
            try:
                answer = fcntl.ioctl(channel, SIOCGIFFLAGS, _FLAGS.pack(self.name.encode(), 0))
                flags = int(_FLAGS.unpack(answer)[1])
                if more & ~flags:
                    fcntl.ioctl(channel, SIOCSIFFLAGS, _FLAGS.pack(self.name.encode(), flags | more))
            except OSError:
                return None
        return flags | more


class LabIntf(VtepIntf):
    """One end of a cable, with the address and MAC that it was planned to have."""

    def __init__(self, end: End, node: LabNode, link: "LabLink") -> None:
        self.end = end
        # A server's ports are numbered per bridge; Mininet wants one number per node.
        port = end.port if isinstance(node, LabSwitch) and not isinstance(node, LabServer) else None
        super().__init__(end.device, node=node, port=port, link=link, mac=end.mac, moveIntfFn=_stay)
        for address in end.addresses[:1]:
            self.ip, _, self.prefixLen = address.partition("/")

    def __str__(self) -> str:
        """The name that people know; `ip` takes it as well as the device's."""
        return self.end.altname or self.end.device


class LabLink(Link):  # type: ignore[misc]
    """A cable of the lab."""

    def __str__(self) -> str:
        """Both ends; what does not begin with its node's name (every instance has an `eth0`) is told with it."""
        ends = ((intf.node.name, str(intf)) for intf in (self.intf1, self.intf2))
        return "<->".join(port if port.startswith(f"{node}-") else f"{node}:{port}" for node, port in ends)

    def __init__(self, cable: Cable, a: LabNode, b: LabNode) -> None:
        self.cable, self.lab = cable, a.lab
        self.intf1, self.intf2 = LabIntf(cable.a, a, self), LabIntf(cable.b, b, self)

    def set_up(self, up: bool) -> None:
        """Plug or pull the cable."""
        self.lab.set_link(self.cable, up)

    def stop(self) -> None:
        """Nothing: the cable ends with the lab."""

    def delete(self) -> None:
        """Nothing: the cable ends with the lab."""
