"""The prober on a network that isolates nothing: a Linux bridge with a few namespaces on it.

A prober that reports no leak here would report none anywhere. Then the same bridge is made to block, and to lose.
"""

import json
import os
import resource
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from topologies.probes import endpoints
from topologies.probes.endpoints import PacketSocket
from topologies.probes.namespaces import ProbeError, inside
from topologies.probes.plan import parse
from topologies.probes.runner import Runner
from topologies.probes.tokens import Mint

pytestmark = pytest.mark.root

BROADCAST = "ff:ff:ff:ff:ff:ff"
FORGED_MAC, FORGED_IP = "02:00:00:00:00:99", "10.1.0.99"


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)


@dataclass
class FlatNetwork:
    """`size` namespaces n0..: device eth0 with MAC 02:00:00:00:00:0x and address 10.1.0.1x, peer px on one bridge."""

    size: int
    prefix: str = field(default_factory=lambda: f"ocprobe{uuid.uuid4().hex[:8]}-")

    @property
    def bridge(self) -> str:
        return f"{self.prefix}bridge"

    def node(self, place: int) -> str:
        return f"{self.prefix}n{place}"

    def up(self) -> None:
        self._namespace(self.bridge)
        ip("-n", self.bridge, "link", "add", "br0", "type", "bridge", "mcast_snooping", "0")
        ip("-n", self.bridge, "link", "set", "br0", "up")
        for place in range(self.size):
            node = self.node(place)
            self._namespace(node)
            ip("-n", self.bridge, "link", "add", f"p{place}", "type", "veth", "peer", "name", "eth0", "netns", node)
            ip("-n", node, "link", "set", "eth0", "address", self.mac(place), "up")
            ip("-n", node, "addr", "add", f"{self.ip(place)}/24", "dev", "eth0")
            ip("-n", self.bridge, "link", "set", f"p{place}", "master", "br0", "up")
            self.bridge_command("fdb", "add", self.mac(place), "dev", f"p{place}", "master", "static")

    def bridge_command(self, *arguments: str) -> None:
        subprocess.run(["bridge", "-n", self.bridge, *arguments], check=True, capture_output=True, text=True)

    def _namespace(self, name: str) -> None:
        ip("netns", "add", name)
        # Silence: a device with IPv6 announces itself.
        with inside(f"/run/netns/{name}"):
            Path("/proc/sys/net/ipv6/conf/default/disable_ipv6").write_text("1", encoding="ascii")

    def down(self) -> None:
        listed = subprocess.run(["ip", "netns", "list"], check=True, capture_output=True, text=True).stdout
        for name in (line.split()[0] for line in listed.splitlines() if line.startswith(self.prefix)):
            ip("netns", "delete", name)

    def nft(self, rule: str) -> None:
        """One more rule for everything that the bridge forwards."""
        script = (f"add table bridge probes\nadd chain bridge probes forward "
                  f"{{ type filter hook forward priority 0; }}\nadd rule bridge probes forward {rule}\n")
        subprocess.run(["ip", "netns", "exec", self.bridge, "nft", "-f", "-"], input=script, check=True, text=True)

    @staticmethod
    def mac(place: int) -> str:
        return f"02:00:00:00:00:{place:02x}"

    @staticmethod
    def ip(place: int) -> str:
        return f"10.1.0.{10 + place}"

    def plan(self, probes: list[dict], taps: tuple[int, ...] = ()) -> dict:
        here = {f"n{place}": {"netns": f"/run/netns/{self.node(place)}", "device": "eth0", "mac": self.mac(place),
                              "ip": self.ip(place)} for place in range(self.size)}
        listen = [{"name": f"tap{place}", "netns": f"/run/netns/{self.bridge}", "device": f"p{place}"}
                  for place in taps]
        return {"lab": "flat", "endpoints": here, "taps": listen, "known_vnis": [7], "deadline_s": 20,
                "probes": [{**probe, "id": number} for number, probe in enumerate(probes)]}

    def probe(self, kind: str, source: int, target: int, receivers: list[int], **changed: object) -> dict:
        packet: dict[str, object] = {"port": f"n{source}", "eth_src": self.mac(source), "eth_dst": self.mac(target)}
        if kind == "arp":
            packet |= {"eth_type": 0x0806, "eth_dst": BROADCAST, "arp_op": 1, "arp_sha": self.mac(source),
                       "arp_spa": self.ip(source), "arp_tpa": self.ip(target)}
        else:
            protocol = {"icmp": 1, "tcp": 6}.get(kind, 17)
            packet |= {"eth_type": 0x0800, "ip_src": self.ip(source), "ip_dst": self.ip(target), "ip_proto": protocol}
            if kind != "icmp":
                packet |= {"l4_src": 40000, "l4_dst": {"rocev2": 4791, "forged-vxlan": 4789}.get(kind, 7777)}
        answer, inner = changed.pop("answer_mac", None), changed.pop("inner", None)
        return {"kind": kind, "source": f"n{source}", "target": f"n{target}", "packet": packet | changed,
                "inner": inner, "expect": {"receivers": [f"n{place}" for place in receivers], "answer_mac": answer,
                                           "reason": "delivered" if receivers else "no such mac in the subnet"}}

    def every_kind(self, source: int, target: int) -> list[dict]:
        """Probes that a network with isolation would swallow."""
        inner = {"vni": 7, "eth_src": self.mac(source), "eth_dst": self.mac(target), "eth_type": 0x0800,
                 "ip_src": self.ip(source), "ip_dst": self.ip(target), "ip_proto": 17, "l4_src": 1, "l4_dst": 2}
        plain = [self.probe(kind, source, target, []) for kind in ("arp", "icmp", "tcp", "udp", "rocev2")]
        return [*plain, self.probe("broadcast", source, target, [], eth_dst=BROADCAST, ip_dst="255.255.255.255"),
                self.probe("unknown-unicast", source, target, [], eth_dst="02:00:00:00:00:77"),
                self.probe("spoofed-mac", source, target, [], eth_src=FORGED_MAC),
                self.probe("spoofed-ip", source, target, [], ip_src=FORGED_IP),
                self.probe("vlan", source, target, [], vlan=42),
                self.probe("forged-vxlan", source, target, [], inner=inner)]


def network(size: int) -> Iterator[FlatNetwork]:
    made = FlatNetwork(size)
    try:
        made.up()
        yield made
    finally:
        made.down()


@pytest.fixture
def flat() -> Iterator[FlatNetwork]:
    yield from network(4)


def run(plan: dict) -> dict:
    return Runner(parse(plan), lambda text: None).run()


def as_process(plan: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "topologies.probes"], input=json.dumps(plan), capture_output=True,
                          text=True, timeout=60, check=False)


def verdicts(result: dict) -> list[str]:
    return [item["verdict"] for item in result["results"]]


def test_every_leak_of_a_flat_network_is_reported(flat: FlatNetwork) -> None:
    plan = flat.plan(flat.every_kind(0, 2))
    result = run(plan)
    found = {probe["kind"]: item for probe, item in zip(plan["probes"], result["results"], strict=True)}
    assert {kind: item["verdict"] for kind, item in found.items()} == dict.fromkeys(found, "leak")
    assert not any(item["ok"] for item in found.values())
    assert all("n2" in item["observed"]["receivers"] for item in found.values())
    assert found["arp"]["observed"]["answer_mac"] == flat.mac(2)
    for kind in ("broadcast", "unknown-unicast"):
        assert found[kind]["observed"]["receivers"] == ["n1", "n2", "n3"]
    assert found["forged-vxlan"]["detail"].startswith("leak: arrived at n2")
    assert result["errors"] == []


def test_what_may_pass_passes_and_own_frames_do_not_count(flat: FlatNetwork) -> None:
    allowed = [flat.probe(kind, 0, 1, [1]) for kind in ("icmp", "tcp", "udp", "rocev2")]
    result = run(flat.plan([*allowed, flat.probe("broadcast", 0, 1, [1, 2, 3], eth_dst=BROADCAST)]))
    assert result["results"] == [
        {"id": number, "ok": True, "verdict": "pass", "detail": "",
         "observed": {"receivers": ["n1"] if number < 4 else ["n1", "n2", "n3"], "answer_mac": None}}
        for number in range(5)]
    assert result["seconds"] < 5


def test_a_plain_arp_answer_without_token_is_recognised(flat: FlatNetwork) -> None:
    flat.nft("ether type arp arp operation request ether daddr ff:ff:ff:ff:ff:ff oif p2 drop")
    flat.nft("ether type arp arp operation request ether daddr ff:ff:ff:ff:ff:ff oif p3 drop")
    right = flat.probe("arp", 0, 1, [1], answer_mac=flat.mac(1))
    wrong = flat.probe("arp", 0, 1, [1])
    result = run(flat.plan([right, wrong]))
    assert verdicts(result) == ["pass", "leak"]
    assert result["results"][1]["detail"] == "leak: answered from 02:00:00:00:00:01"


def test_a_bridge_that_drops_gives_blocked_verdicts(flat: FlatNetwork) -> None:
    flat.nft("iif p0 drop")
    result = run(flat.plan(flat.every_kind(0, 2), taps=(2, 3)))
    assert set(verdicts(result)) == {"pass"}
    assert result["errors"] == []
    assert all(tap["violations"] == [] for tap in result["taps"].values())


def test_a_port_off_the_bridge_gives_blocked_verdicts(flat: FlatNetwork) -> None:
    ip("-n", flat.bridge, "link", "set", "p2", "nomaster")
    for place in (1, 3):
        flat.bridge_command("link", "set", "dev", f"p{place}", "flood", "off")
    result = run(flat.plan([flat.probe("udp", 0, 2, []), flat.probe("tcp", 0, 2, []), flat.probe("udp", 0, 1, [1])]))
    assert verdicts(result) == ["pass", "pass", "pass"]


@pytest.mark.parametrize("first", [1, 3])
def test_lost_frames_are_sent_again(flat: FlatNetwork, first: int) -> None:
    flat.nft(f"udp dport 7777 quota {first * 50} bytes drop")  # each is 44 bytes of IP
    result = run(flat.plan([flat.probe("udp", 0, 1, [1])]))
    assert verdicts(result) == ["pass"]
    assert result["sent"] == first + 1


def test_a_frame_that_never_comes_is_a_loss_and_no_leak(flat: FlatNetwork) -> None:
    flat.nft("udp dport 7777 drop")
    flat.nft("tcp dport 7777 tcp flags & psh == psh drop")  # it connects, and then nothing arrives
    result = run(flat.plan([flat.probe("udp", 0, 1, [1]), flat.probe("tcp", 0, 1, [1])]))
    assert verdicts(result) == ["loss", "loss"]
    assert result["results"][0]["detail"] == "loss: did not arrive at n1, sent 4 times"
    assert result["results"][0]["observed"]["receivers"] == []
    assert result["results"][1]["detail"] == "loss: did not arrive at n1, sent 4 times"


def test_a_tap_tells_what_is_not_vxlan_and_what_had_to_be_dropped(flat: FlatNetwork) -> None:
    inner = {"vni": 7, "eth_src": flat.mac(0), "eth_dst": flat.mac(1), "eth_type": 0x88B5}
    vxlan = flat.probe("forged-vxlan", 0, 1, [1], inner=inner)
    escaped = flat.probe("forged-vxlan", 0, 1, [], inner=inner)
    result = run(flat.plan([vxlan, escaped, flat.probe("udp", 0, 1, [1])], taps=(1,)))
    tap = result["taps"]["tap1"]
    assert tap["vnis"] == [7]
    assert any("carries probe 1, which had to be dropped at the edge" in text for text in tap["violations"])
    assert any(text.startswith("UDP to port 7777: 0200 0000") or text.startswith("UDP to port 7777: 02000000")
               for text in tap["violations"])
    assert not any("probe 0" in text for text in tap["violations"])


def test_frames_that_the_kernel_dropped_are_an_error_of_the_run(flat: FlatNetwork,
                                                                monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "RECEIVE_BUFFER", 1)
    result = run(flat.plan([flat.probe("broadcast", 0, 1, [], eth_dst=BROADCAST) for _ in range(64)]))
    assert any("the kernel dropped" in text for text in result["errors"])


def test_an_endpoint_that_goes_deaf_is_an_error_of_the_run(flat: FlatNetwork) -> None:
    class Saboteur(Mint):
        """Takes a listener's device away at the moment the first frame is made."""

        def make(self, probe: int, leg: int = 0) -> bytes:
            ip("-n", flat.node(2), "link", "set", "eth0", "down")
            return super().make(probe, leg)

    plan = parse(flat.plan([flat.probe("udp", 0, 2, [])]))
    assert Runner(plan, lambda text: None, Saboteur()).run()["errors"] == ["n2 went deaf: Network is down"]


def test_what_the_deadline_left_unsent_is_an_error_and_no_pass(flat: FlatNetwork) -> None:
    plan = flat.plan([flat.probe("udp", 0, 2, []), flat.probe("udp", 0, 1, [1])]) | {"deadline_s": 0}
    result = run(plan)
    assert verdicts(result) == ["error", "error"]
    assert result["errors"] == ["the deadline of 0 s came when 2 of 2 probes of round 1 were not sent"]


def test_a_namespace_is_left_again_also_after_an_error(flat: FlatNetwork) -> None:
    def here() -> int:
        return os.stat("/proc/thread-self/ns/net").st_ino
    home = here()
    with pytest.raises(ZeroDivisionError), inside(f"/run/netns/{flat.node(0)}"):
        assert here() != home
        raise ZeroDivisionError
    assert here() == home


def test_a_vlan_tag_is_seen_where_it_was_sent(flat: FlatNetwork) -> None:
    listener = PacketSocket("n1", f"/run/netns/{flat.node(1)}", "eth0")
    sender = PacketSocket("n0", f"/run/netns/{flat.node(0)}", "eth0")
    tagged = bytes.fromhex("ffffffffffff 020000000000 8100 602a 88b5") + b"tagged".ljust(46, b"\0")
    try:
        sender.send(tagged)
        assert next(listener.frames()) == tagged
        assert list(sender.frames()) == []
    finally:
        listener.close()
        sender.close()


def test_missing_devices_are_named(flat: FlatNetwork) -> None:
    with pytest.raises(ProbeError, match="n0: cannot listen on eth7"):
        PacketSocket("n0", f"/run/netns/{flat.node(0)}", "eth7")
    with pytest.raises(ProbeError, match="no such network namespace"):
        PacketSocket("n0", f"/run/netns/{flat.prefix}none", "eth0")


def test_a_socket_hears_as_soon_as_its_device_comes_up(flat: FlatNetwork) -> None:
    ip("-n", flat.node(1), "link", "set", "eth0", "down")
    listener = PacketSocket("n1", f"/run/netns/{flat.node(1)}", "eth0")
    sender = PacketSocket("n0", f"/run/netns/{flat.node(0)}", "eth0")
    try:
        assert (listener.was_up, listener.is_up(), sender.was_up) == (False, False, True)
        assert list(listener.frames()) == []
        ip("-n", flat.node(1), "link", "set", "eth0", "up")
        flat.bridge_command("link", "set", "dev", "p1", "state", "3")  # forwarding at once
        frame = bytes.fromhex("ffffffffffff 020000000000 88b5") + b"early".ljust(46, b"\0")
        sender.send(frame)
        assert listener.is_up() and next(listener.frames()) == frame
    finally:
        listener.close()
        sender.close()


def test_an_endpoint_that_is_down_loses_what_it_should_get_and_send(flat: FlatNetwork) -> None:
    ip("-n", flat.node(1), "link", "set", "eth0", "down")
    probes = [flat.probe(kind, 0, 1, [1]) for kind in ("udp", "tcp")]
    probes += [flat.probe(kind, 1, 0, [0]) for kind in ("udp", "tcp")]
    result = run(flat.plan([*probes, flat.probe("udp", 1, 0, []), flat.probe("udp", 0, 2, [2])]))
    assert verdicts(result) == ["loss", "loss", "loss", "loss", "error", "pass"]
    assert result["results"][2]["detail"] == "loss: did not arrive at n0, never sent, n1 cannot send: Network is down"
    assert result["errors"] == ["n1 is down: that nothing arrives there proves nothing"]


def test_a_tap_of_a_link_that_is_down_is_skipped(flat: FlatNetwork) -> None:
    ip("-n", flat.bridge, "link", "set", "p3", "down")
    result = run(flat.plan([flat.probe("udp", 0, 1, [1])], taps=(1, 3)))
    assert verdicts(result) == ["pass"] and result["errors"] == []
    assert {name: tap["down"] for name, tap in result["taps"].items()} == {"tap1": False, "tap3": True}


def test_a_tap_whose_link_comes_and_goes_is_no_error(flat: FlatNetwork) -> None:
    class Fiddler(Mint):
        """Plugs one cable in and pulls another at the moment the first frame is made."""

        def make(self, probe: int, leg: int = 0) -> bytes:
            ip("-n", flat.bridge, "link", "set", "p3", "up")
            ip("-n", flat.bridge, "link", "set", "p2", "down")
            return super().make(probe, leg)

    ip("-n", flat.bridge, "link", "set", "p3", "down")
    plan = parse(flat.plan([flat.probe("udp", 0, 1, [1])], taps=(2, 3)))
    result = Runner(plan, lambda text: None, Fiddler()).run()
    assert result["errors"] == [] and not any(tap["down"] for tap in result["taps"].values())


def test_late_ones_are_listened_for_once(flat: FlatNetwork) -> None:
    said: list[str] = []
    Runner(parse(flat.plan([flat.probe("udp", 0, 1, [])])), said.append).run()
    assert said.count("listening for late ones") == 1


def test_the_process_reads_a_plan_and_writes_a_result(flat: FlatNetwork) -> None:
    done = as_process(flat.plan([flat.probe("tcp", 0, 1, [1]), flat.probe("udp", 0, 2, [])]))
    assert done.returncode == 0, done.stderr
    assert verdicts(json.loads(done.stdout)) == ["pass", "leak"]
    broken = flat.plan([])
    broken["endpoints"]["n0"]["netns"] = "/run/netns/none-such"
    refused = as_process(broken)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "no such network namespace" in refused.stderr


def test_a_matrix_of_sixteen_stays_within_its_time() -> None:
    """2,640 probes of 11 kinds; frames are flooded to sixteen, so this hears more than a network that isolates."""
    for flat in network(16):
        pairs = [(a, b) for a in range(16) for b in range(16) if a != b]
        probes = [probe for a, b in pairs for probe in flat.every_kind(a, b)]
        tcp = [flat.probe("tcp", a, b, [b], l4_dst=7778) for a, b in pairs if a % 2 == b % 2]
        before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        done = as_process(flat.plan([*probes, *tcp]))
        after, seconds = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic() - started
        result = json.loads(done.stdout)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        print(f"{len(probes) + len(tcp)} probes, {result['sent']} sent: {seconds:.1f} s, {cpu:.1f} s of CPU")
        assert result["errors"] == []
        assert verdicts(result)[len(probes):] == ["pass"] * len(tcp)
        assert verdicts(result)[:len(probes)] == ["leak"] * len(probes)
        assert cpu < 15
