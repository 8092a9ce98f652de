"""Closes a namespace's kernel to what Open vSwitch's ports carry.

The userspace datapath reads a copy of each frame; the kernel gets the frame as well and would act on it: answer ARP for
any address of the namespace, accept packets to it, send ICMP errors wherever a forged source address points. A tenant
would have a way to the server, the management network and the fabric. So everything that does not come in by the
namespace's own devices is dropped before the kernel's IP and ARP look at it.
"""

import subprocess

from topologies.emulator import namespaces
from topologies.emulator.errors import EmulatorError
from topologies.emulator.names import OWN_DEVICES

_RULES = """\
table inet overclos
delete table inet overclos
table arp overclos
delete table arp overclos
table inet overclos {{
  chain closed {{ type filter hook prerouting priority -450; policy accept; iifname != {{ {own} }} drop; }}
}}
table arp overclos {{
  chain closed {{ type filter hook input priority -300; policy accept; iifname != {{ {own} }} drop; }}
}}
"""


def close(netns: str) -> None:
    """Close the namespace; again is no harm. Raises EmulatorError if the kernel does not take the rules: a lab without
    them is no lab."""
    rules = _RULES.format(own=", ".join(f'"{device}"' for device in OWN_DEVICES))
    with namespaces.entered(netns):
        try:
            done = subprocess.run(["nft", "-f", "-"], input=rules, capture_output=True, text=True)
        except FileNotFoundError as error:
            raise EmulatorError("nft", "is not installed", "install nftables") from error
    if done.returncode != 0:
        problem = f"the kernel takes no nftables rules: {done.stderr.strip()}"
        raise EmulatorError(netns, problem, "see `overclos doctor`")
