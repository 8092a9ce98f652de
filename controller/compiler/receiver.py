"""How a local port gets what is for it."""

from typing import NamedTuple

from controller.compiler.security import Filter
from controller.model.tenancy import Port


class Receiver(NamedTuple):
    """A local port; `filter` says how it is judged if it has security groups. `limited`: its conntrack zone, if there
    is a limit for what it gets."""

    ofport: int
    filter: Filter | None
    limited: int | None

    @staticmethod
    def of(port: Port, ofport: int, judged: Filter | None) -> "Receiver":
        return Receiver(ofport, judged, port.zone if port.qos.limits_received else None)
