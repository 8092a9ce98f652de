"""How a flow asks the controller to answer the sender of a packet."""

from controller.flows.action import Action
from controller.flows.language import goto, load
from controller.model.ask import Ask
from controller.pipeline.fields import ASK
from controller.pipeline.tables import PUNT

EXPIRING = 0, 1  # TTLs with which a packet goes no further (RFC 1812, 5.3.1)


def asking(ask: Ask) -> tuple[Action, ...]:
    """The last actions of the flow."""
    return load(ASK.name, ask), goto(PUNT)
