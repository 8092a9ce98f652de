"""A VPC as the compiler sees it: its subnets, and the chassis that have members of each."""

from typing import NamedTuple

from controller.compiler.unit import Where
from controller.model.tenancy import Subnet


class VpcScope(NamedTuple):
    """Every subnet of one VPC, with the br-ints (dpids) of the chassis that have members of it. It holds no port: what
    comes and goes on a chassis that has members already changes nothing here."""

    subnets: tuple[tuple[Subnet, Where], ...]
