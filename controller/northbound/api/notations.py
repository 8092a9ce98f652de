"""What single texts may be, for pydantic: read by the functions of `controller.model.addresses`, so that the API and
lab files accept and say the same.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from controller.model import addresses, allowed, ipv6
from controller.model.addresses import NotationError

WORD = r"^[^\x00-\x1f\x7f]+$"


@dataclass(frozen=True, slots=True)
class Notation:
    """A text in a notation of the model; what comes out is its canonical form."""

    read: Callable[[str], object]
    pattern: str
    longest: int
    example: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.canonical, core_schema.str_schema(strict=True))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        pattern = f"^(?:{self.pattern})$"
        return {"type": "string", "pattern": pattern, "maxLength": self.longest, "examples": [self.example]}

    def canonical(self, text: str) -> str:
        try:
            return str(self.read(text))
        except NotationError as error:
            words = {"message": error.message, "hint": error.hint}
            raise PydanticCustomError("notation", "{message}", words) from error


PortName = Annotated[str, Notation(addresses.further_port, addresses.FURTHER_PORT, 5, "eth1")]
Name = Annotated[str, Notation(addresses.label, addresses.LABEL, 63, "web1")]
Cidr = Annotated[str, Notation(addresses.cidr, addresses.CIDR, 18, "10.1.0.0/24")]
Address = Annotated[str, Notation(addresses.address, addresses.ADDRESS, 15, "10.1.0.10")]
Cidr6 = Annotated[str, Notation(ipv6.cidr6, ipv6.CIDR6, 43, "fd00:1::/64")]
Address6 = Annotated[str, Notation(ipv6.address6, ipv6.ADDRESS6, 39, "fd00:1::10")]
Allowed = Annotated[str, Notation(allowed.canonical, allowed.ALLOWED, 43, "10.1.0.100")]
AnyAddress = Annotated[str, Notation(ipv6.any_address, ipv6.ANY_ADDRESS, 39, "10.1.0.53")]
VpcId = Annotated[str, Notation(addresses.vpc_id, addresses.VPC_ID, 127, "blue.shop")]
Group = Annotated[str, Notation(addresses.group, addresses.GROUP, 191, "web-servers")]
Remote = Annotated[str, Notation(addresses.remote, addresses.REMOTE, 43, "0.0.0.0/0")]
Destination = Annotated[str, Notation(addresses.destination, addresses.CIDR, 18, "0.0.0.0/0")]
Ports = Annotated[str, Notation(addresses.ports, addresses.PORTS, 11, "8000-8100")]
Mac = Annotated[str, Notation(addresses.mac, addresses.MAC, 17, "02:00:00:00:00:01")]
