"""Neighbour Discovery answered by the switch itself (RFC 4861): the solicitation becomes the advertisement.

Open vSwitch writes the option with the target's MAC only in what it knows to be an advertisement, which is a matter of
the table that a flow is in. So the first half goes on to a table behind, and the second half is there.
"""

from controller.flows.action import IN_PORT, Action, Output
from controller.flows.language import load, move
from controller.pipeline.headers import (
    ICMPV6, IPV6, NEIGHBOUR_ADVERTISEMENT, NEIGHBOUR_SOLICITATION, ROUTER_SOLICITATION,
)  # fmt: skip

ROUTER, SOLICITED, OVERRIDE = 1 << 31, 1 << 30, 1 << 29  # flags of an advertisement
TARGET_LINK_LAYER = 2  # type of the option with the target's MAC
DISCOVERY = range(133, 138)  # icmpv6_type: solicitations and advertisements of routers and neighbours, redirect
HOP_LIMIT = 255  # of every message: it has crossed no router
SOLICITS = {"eth_type": IPV6, "ip_proto": ICMPV6, "icmpv6_type": NEIGHBOUR_SOLICITATION}
ROUTER_SOLICITS = {"eth_type": IPV6, "ip_proto": ICMPV6, "icmpv6_type": ROUTER_SOLICITATION}
ADVERTISES = {"eth_type": IPV6, "ip_proto": ICMPV6, "icmpv6_type": NEIGHBOUR_ADVERTISEMENT}


def advertisement(target: int, target_mac: int, router: bool) -> tuple[Action, ...]:
    """Actions that turn the solicitation for `target` round."""
    return (
        move("eth_src", "eth_dst"),
        load("eth_src", target_mac),
        move("ipv6_src", "ipv6_dst"),
        load("ipv6_src", target),
        load("nd_options_type", TARGET_LINK_LAYER),
        load("nd_reserved", (ROUTER if router else 0) | SOLICITED | OVERRIDE),
        load("icmpv6_type", NEIGHBOUR_ADVERTISEMENT),
    )


def sent() -> tuple[Action, ...]:
    """Actions that finish an advertisement and send it back."""
    return move("eth_src", "nd_tll"), Output(IN_PORT)
