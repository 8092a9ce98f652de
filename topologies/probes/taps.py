"""What a link of the fabric may carry: VXLAN of known networks, and nothing else.

Checked on raw bytes: IPv4, UDP to port 4789, the I flag of RFC 7348 set, a VNI that the lab knows. Any other frame is a
violation, and so is a frame that the first hop had to swallow.
"""

from collections.abc import Collection
from dataclasses import dataclass, field

from topologies.probes.headers import IPV4_TYPE, VLAN_TYPES

MAX_VIOLATIONS = 20  # that are told one by one; the rest is only counted
_VXLAN_PORT, _VNI_VALID, _UDP = 4789, 0x08, 17
_SUMMARY_BYTES = 64


@dataclass(slots=True)
class TapReport:
    """What one tap saw. `vxlan` of `frames` were VXLAN; `broken` counts the violations, also those not told. `down`:
    the link was down all the time, so there was nothing to watch."""

    frames: int = 0
    vxlan: int = 0
    vnis: set[int] = field(default_factory=set)
    broken: int = 0
    violations: list[str] = field(default_factory=list)
    down: bool = False

    def observe(self, frame: bytes, known_vnis: Collection[int], forbidden: Collection[int]) -> None:
        """Count one frame. `forbidden` are the probes in it that had to be swallowed before the fabric."""
        self.frames += 1
        vni, fault = examine(frame)
        if vni is not None:
            self.vxlan += 1
            self.vnis.add(vni)
            if vni not in known_vnis:
                fault = f"VXLAN with unknown VNI {vni}"
        if fault is None and forbidden:
            fault = f"carries probe {', '.join(map(str, sorted(forbidden)))}, which had to be dropped at the edge"
        if fault is not None:
            self.broken += 1
            if len(self.violations) < MAX_VIOLATIONS:
                self.violations.append(f"{fault}: {frame[:_SUMMARY_BYTES].hex(' ', -4)}")

    def as_dict(self) -> dict[str, object]:
        untold = self.broken - len(self.violations)
        more = [f"and {untold} more violations"] if untold else []
        return {"frames": self.frames, "vxlan": self.vxlan, "vnis": sorted(self.vnis),
                "violations": self.violations + more, "down": self.down}


def examine(frame: bytes) -> tuple[int | None, str | None]:
    """(VNI, None) of a VXLAN frame, or (None, what else it is)."""
    if len(frame) < 14:
        return None, "truncated Ethernet header"
    eth_type = int.from_bytes(frame[12:14], "big")
    if eth_type in VLAN_TYPES:
        return None, f"VLAN tag {int.from_bytes(frame[14:16], 'big') & 0xFFF}"
    if eth_type != IPV4_TYPE:
        return None, f"EtherType {eth_type:#06x}"
    return _examine_ipv4(frame[14:])


def _examine_ipv4(packet: bytes) -> tuple[int | None, str | None]:
    header = (packet[0] & 0x0F) * 4 if packet else 0
    if header < 20 or packet[0] >> 4 != 4 or len(packet) < header:
        return None, "malformed IPv4 header"
    if packet[9] != _UDP:
        return None, f"IPv4 protocol {packet[9]}"
    if int.from_bytes(packet[6:8], "big") & 0x1FFF:
        return None, "later fragment of an IPv4 packet"
    udp = packet[header:]
    if len(udp) < 8:
        return None, "truncated UDP header"
    port = int.from_bytes(udp[2:4], "big")
    if port != _VXLAN_PORT:
        return None, f"UDP to port {port}"
    vxlan = udp[8:16]
    if len(vxlan) < 8:
        return None, "truncated VXLAN header"
    if not vxlan[0] & _VNI_VALID:
        return None, f"VXLAN without a valid VNI, flags {vxlan[0]:#04x}"
    return int.from_bytes(vxlan[4:7], "big"), None
