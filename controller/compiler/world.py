"""A snapshot and what was observed, indexed: what every concern selects its views from."""

from collections.abc import Iterator

from controller.model.placement import Chassis, Observed
from controller.model.snapshot import Snapshot
from controller.model.tenancy import Port, Subnet


class World:
    """Built once per compilation; nothing in it changes afterwards."""

    def __init__(self, snapshot: Snapshot, observed: Observed) -> None:
        self.snapshot = snapshot
        self.observed = observed
        self.chassis = {chassis.name: chassis for chassis in snapshot.chassis}
        self.subnets = {subnet.id: subnet for subnet in snapshot.intent.subnets}
        self._servers = {instance.id: instance.server for instance in snapshot.intent.instances}
        self._members: dict[str, dict[str, list[Port]]] = {}
        for port in snapshot.intent.ports:
            self._members.setdefault(port.subnet, {}).setdefault(self._servers[port.instance], []).append(port)

    def ports(self) -> Iterator[tuple[Port, Subnet, Chassis]]:
        """Every port with its subnet and the chassis it is placed on, whether plugged there or not."""
        for port in self.snapshot.intent.ports:
            yield port, self.subnets[port.subnet], self.chassis[self._servers[port.instance]]

    def plugged_ports(self) -> Iterator[tuple[Port, Subnet, Chassis, int]]:
        """Every port that is plugged where it is placed, with its OpenFlow port on br-int. A port that shows up on
        another chassis stays closed there."""
        for port, subnet, chassis in self.ports():
            ofport = self.observed.plugged.get((chassis.name, port.id))
            if ofport is not None:
                yield port, subnet, chassis, ofport

    def networks(self) -> Iterator[tuple[Subnet, Chassis, tuple[Chassis, ...]]]:
        """Every (subnet, chassis with members of it), with the other chassis that have members."""
        for subnet_id, members in self._members.items():
            present = self.chassis_of(subnet_id)
            for chassis in present:
                yield self.subnets[subnet_id], chassis, tuple(other for other in present if other != chassis)

    def chassis_of(self, subnet_id: str) -> tuple[Chassis, ...]:
        """The chassis that have members of a subnet, by name."""
        return tuple(self.chassis[name] for name in sorted(self._members.get(subnet_id, {})))
