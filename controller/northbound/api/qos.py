"""Limits and mark of a port, as a client says them and as it is shown them."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from controller.model.qos import LEAST_BURST_KBIT, MAX_DSCP, MAX_LIMIT

Limit = Annotated[int, Field(ge=1, le=MAX_LIMIT)]


class QosBody(BaseModel):
    """Limits of a port in both directions, and the mark of what it sends. Rates count whole Ethernet frames."""

    model_config = ConfigDict(extra="forbid", strict=True)

    from_port_kbps: Limit | None = Field(None, description="Most kbit/s that it sends; default: no limit.")
    to_port_kbps: Limit | None = Field(None, description="Most kbit/s that it gets; default: no limit.")
    from_port_pps: Limit | None = Field(None, description="Most packets/s that it sends; default: no limit.")
    to_port_pps: Limit | None = Field(None, description="Most packets/s that it gets; default: no limit.")
    burst_kbit: Annotated[int, Field(ge=LEAST_BURST_KBIT, le=MAX_LIMIT)] | None = Field(
        None, description="What may pass at once after a pause; default: what comes in 0.3 s."
    )
    dscp: Annotated[int, Field(ge=0, le=MAX_DSCP)] | None = Field(None, description="Default: as it is sent.")
