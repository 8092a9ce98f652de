"""ARP answered by the switch itself (RFC 826): the request is turned into the reply and sent back."""

from controller.flows.action import IN_PORT, Action, Output
from controller.flows.language import load, move

REQUEST, REPLY = 1, 2  # arp_op


def reply(answer_mac: int, *swap: Action) -> tuple[Action, ...]:
    """Actions that answer a request with `answer_mac`. `swap` exchanges sender's and target's protocol address; one of
    the two is known where this is used, so no spare register is needed for it."""
    return (
        move("eth_src", "eth_dst"),
        load("eth_src", answer_mac),
        load("arp_op", REPLY),
        move("arp_sha", "arp_tha"),
        load("arp_sha", answer_mac),
        *swap,
        Output(IN_PORT),
    )
