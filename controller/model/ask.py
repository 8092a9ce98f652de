"""What the controller is asked for by a packet: the numbers that flows write into the field `ask`."""

from enum import IntEnum


class Ask(IntEnum):
    """What the controller is asked for, on behalf of the port that sent a packet."""

    DHCP = 1
    DNS = 2
    ROUTER = 3  # a Router Solicitation
    DHCP6 = 4
    EXPIRED = 5  # these want an ICMP error: the TTL ran out
    NO_ROUTE = 6
    NO_HOST = 7
    NO_PORT = 8
    TOO_LARGE = 9
