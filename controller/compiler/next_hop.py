"""Routes to instances: the packet is handed to the port of the next hop, though it is for another address.

Of the prefixes here that cover a packet's destination the longest is the one by which `gateway` sent it here: a longer
one would have been the longest there, too.
"""

from collections.abc import Iterator

from controller.compiler.address import mac, prefix
from controller.compiler.ask import EXPIRING, asking
from controller.compiler.entry import entering
from controller.compiler.routes import Led, RoutesScope
from controller.compiler.unit import Selected
from controller.flows.action import DecTtl
from controller.flows.flow import Flow
from controller.flows.language import flow, goto, load
from controller.flows.match import match
from controller.model.addresses import GATEWAY_MAC
from controller.model.ask import Ask
from controller.pipeline.headers import IPV4
from controller.pipeline.tables import NEXT_HOP_INSTANCE, TO_SUBNET


SCOPES = (RoutesScope,)


def select(scope: RoutesScope) -> Iterator[Selected]:
    for led, present in scope.led():
        if led.lead.hops:
            yield (led.vni, led.lead.route), present, led


def compile(view: Led) -> Iterator[Flow]:
    network, mask = prefix(view.lead.destination)
    rank = mask.bit_count()
    for ttl in EXPIRING:
        expires = match(network=view.vni, eth_type=IPV4, ip_dst=(network, mask), ip_ttl=ttl)
        yield flow(NEXT_HOP_INSTANCE, "expired", expires, *asking(Ask.EXPIRED), because=view.lead.route, rank=rank)
    several = len(view.lead.hops) > 1
    for slot, hop in enumerate(view.lead.hops):
        chosen = match(
            network=view.vni, slot=slot if several else (0, 0), eth_type=IPV4, ip_dst=(network, mask),
        )  # fmt: skip
        to_hop = load("eth_src", mac(GATEWAY_MAC)), load("eth_dst", mac(hop.mac)), *entering(hop.vni, view.vni)
        yield flow(
            NEXT_HOP_INSTANCE, "prefix", chosen, DecTtl(), *to_hop, goto(TO_SUBNET), because=view.lead.route, rank=rank
        )
