"""Names: short and stable where the kernel is strict, the full name everywhere else.

Device names hold 15 characters; a longer name gets a device name from its hash, and the full name becomes the
device's altname (127 characters). The same name always gives the same device.
"""

import hashlib
import ipaddress
import re
from collections.abc import Container

DEVICE_LENGTH = 15
ALTNAME_LENGTH = 127
FILE_LENGTH = 200
DIRECTORY_LENGTH = 20
NETNS_PREFIX = "oc"
OWN_DEVICES = ("lo", "mgmt0", "br-phy")  # where the kernel of a namespace with an Open vSwitch has addresses

_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")  # DNS label, RFC 1123, in lower case
_SAFE = re.compile(r"[a-z0-9][a-z0-9-]*")
_RESERVED = frozenset({"lo", "all", "default", "mgmt0", "ovs-netdev", "ovs-system", "br-phy", "br-int", "vxlan"})


def digest(text: str, length: int) -> str:
    """The first `length` hexadecimal digits of the text's SHA-256."""
    return hashlib.sha256(text.encode()).hexdigest()[:length]


def device(full: str, taken: Container[str] = ()) -> str:
    """The device name (at most 15 characters) for `full`, not in `taken`: the names used in the same namespace."""
    if len(full) <= DEVICE_LENGTH and _SAFE.fullmatch(full) and full not in _RESERVED and full not in taken:
        return full
    for attempt in range(1000):
        short = "x" + digest(f"{full}/{attempt}" if attempt else full, DEVICE_LENGTH - 1)
        if short not in taken:
            return short
    raise ValueError(f"no free device name for {full}")


def altname(full: str, chosen: str) -> str | None:
    """The altname that makes `full` usable for a device called `chosen`; None if the device has that name."""
    if full == chosen:
        return None
    return bounded(full, ALTNAME_LENGTH)


def bounded(full: str, length: int) -> str:
    """`full` if it fits, else its start and a hash."""
    return full if len(full) <= length else f"{full[:length - 13]}-{digest(full, 12)}"


def netns(lab: str, node: str) -> str:
    """The file name under /run/netns. Labs are DNS labels without dots, so two labs never share a name."""
    return bounded(f"{NETNS_PREFIX}.{lab}.{node}", FILE_LENGTH)


def is_label(name: str) -> bool:
    """Whether a lab may be called so: a DNS label, which is also a harmless file name."""
    return bool(_LABEL.fullmatch(name))


def directory(name: str) -> str:
    """A directory name short enough for the unix sockets inside (their whole path holds 107 characters)."""
    return bounded(name, DIRECTORY_LENGTH)


def mac(full: str) -> str:
    """A stable, locally administered unicast MAC for a device that needs no particular one."""
    return ":".join(["06", *(digest(full, 10)[at:at + 2] for at in range(0, 10, 2))])


def address_mac(address: str) -> str:
    """The fabric's rule: 02:00 and the four bytes of the IPv4 address."""
    return ":".join(f"{byte:02x}" for byte in (2, 0, *ipaddress.IPv4Address(address).packed))
