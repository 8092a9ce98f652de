"""What VXLAN (RFC 7348) over IPv4 takes and gives: bytes of overhead and room for network identifiers."""

OVERHEAD_BYTES = 50  # outer IPv4 20, UDP 8, VXLAN 8, and the inner Ethernet header 14
MIN_TENANT_MTU = 1280  # the least that IPv6 needs of a link (RFC 8200, section 5)
VNI_BITS = 24
VNI_COUNT = (1 << VNI_BITS) - 1  # VNI 0 is never given out


def tenant_mtu(fabric_mtu: int) -> int:
    """The largest IP packet in bytes that an instance can send over fabric links of `fabric_mtu` bytes."""
    return fabric_mtu - OVERHEAD_BYTES
