"""Hypothesis strategies for what users write under `tenants:`: good labs, and anything at all."""

from ipaddress import IPv4Network, IPv6Network
from typing import Any

from hypothesis import strategies as st

from controller.model.tenancy import FIRST_PORT

SERVERS = ["server-1", "server-2", "gpu-node-0001"]
LABELS = st.sampled_from(["a", "b", "web1", "web2", "web10", "1", "02", "gpu-node-0001", "no", "null", "x" * 63])


@st.composite
def tenants(draw: st.DrawFn) -> dict[str, Any]:
    """A valid lab: up to three tenants with up to two VPCs, three subnets and six instances each."""
    return {name: {"vpcs": draw(st.dictionaries(LABELS, _vpcs(), max_size=2))} for name in draw(_names(3))}


def ports(tenants: dict[str, Any]) -> dict[str, Any]:
    """Id of each port -> what such a lab says of it."""
    machines = {f"{tenant}.{name}.{key}": one for tenant, body in tenants.items() for name, vpc in body["vpcs"].items()
                for key, one in vpc["instances"].items()}  # fmt: skip
    return {f"{key}.{name}": port for key, one in machines.items()
            for name, port in {FIRST_PORT: one, **one.get("ports", {})}.items()}  # fmt: skip


def _names(most: int, apart_from: Any = ()) -> st.SearchStrategy[list[str]]:
    return st.lists(LABELS.filter(lambda name: name not in apart_from), unique=True, max_size=most)


@st.composite
def _vpcs(draw: st.DrawFn) -> dict[str, Any]:
    places = st.lists(st.integers(0, 255), unique=True, min_size=3, max_size=3)
    subnets = {
        name: {"cidr": f"10.{place}.0.0/{draw(st.integers(16, 29))}"}
        for name, place in zip(draw(_names(3)), draw(places), strict=False)
    }
    for place, subnet in enumerate(subnets.values()):
        if draw(st.booleans()):
            subnet["cidr6"] = f"fd00:{place}::/64"
    instances: dict[str, Any] = {}
    if subnets:
        # Few choices, so that fixed and free addresses meet; a /29 has room for five.
        ips = st.lists(st.integers(2, 6), unique=True, min_size=5, max_size=5)
        macs = st.lists(st.integers(0, 5), unique=True, min_size=5, max_size=5)
        for name, ip, mac in zip(draw(_names(5, subnets)), draw(ips), draw(macs), strict=False):
            subnet = draw(st.sampled_from(sorted(subnets)))
            network = IPv4Network(subnets[subnet]["cidr"])
            fixed = {"ip": str(network[ip]), "mac": f"02:80:00:00:00:0{mac}", "server": draw(st.sampled_from(SERVERS))}
            if "cidr6" in subnets[subnet]:
                fixed["ip6"] = str(IPv6Network(subnets[subnet]["cidr6"])[ip])
            kept = draw(st.sets(st.sampled_from(sorted(fixed))))
            instances[name] = {"subnet": subnet, **{key: fixed[key] for key in sorted(kept)}}
            if draw(st.booleans()):
                instances[name]["qos"] = draw(_qos)
        for name in list(instances)[: 5 - len(instances)]:
            homes = st.dictionaries(st.sampled_from(["eth1", "eth15"]), st.sampled_from(sorted(subnets)), max_size=1)
            instances[name]["ports"] = {port: {"subnet": home} for port, home in draw(homes).items()}
        for one in [one for one in instances.values() if "/16" in subnets[one["subnet"]]["cidr"]]:
            subnet = subnets[one["subnet"]]
            shared = [subnet["cidr"].replace("0.0/16", "9.9"), subnet["cidr"].replace("0.0/16", "8.16/28")]
            shared += [subnet["cidr6"].replace("/64", "9:0/120")] if "cidr6" in subnet else []
            one["allowed_addresses"] = draw(st.lists(st.sampled_from(shared), unique=True))
    vpc: dict[str, Any] = {"subnets": subnets, "instances": instances}
    if draw(st.booleans()):
        vpc["peerings"] = {name: {"peer": f"{name}.there"} for name in draw(st.sets(st.sampled_from(["p-1", "p-2"])))}
    if draw(st.booleans()):
        vpc["route_tables"] = {name: {"routes": draw(_routes(sorted(instances)))} for name in draw(_tables)}
        for subnet in subnets.values():
            if vpc["route_tables"] and draw(st.booleans()):
                subnet["route_table"] = draw(st.sampled_from(sorted(vpc["route_tables"])))
    if draw(st.booleans()):
        vpc["network_acls"] = {"guard": {"rules": draw(_acl_rules)}}
        for subnet in subnets.values():
            if draw(st.booleans()):
                subnet["network_acl"] = "guard"
    if draw(st.booleans()) and "default" not in {*subnets, *instances}:
        vpc["security_groups"] = draw(_groups([*GROUPS, "default"]))
        known = [*vpc["security_groups"], *(["default"] if vpc["security_groups"] else [])]
        ports = [port for instance in instances.values() for port in instance.get("ports", {}).values()]
        for port in (*instances.values(), *ports):
            if known and draw(st.booleans()):
                port["groups"] = draw(st.lists(st.sampled_from(sorted(set(known))), unique=True, min_size=1))
    return vpc


_qos = st.dictionaries(
    st.sampled_from(["from_port_kbps", "to_port_kbps", "to_port_pps", "dscp"]), st.integers(1, 63).map(str)
)
_tables = st.lists(st.sampled_from(["rt-1", "edge"]), unique=True, max_size=2)  # none of LABELS


@st.composite
def _routes(draw: st.DrawFn, instances: list[str]) -> dict[str, Any]:
    """Routes to some instances, of which one is never there, or to nowhere."""
    networks = ["0.0.0.0/0", "10.0.0.0/9", "10.1.0.0/16", "198.51.100.0/24", "10.0.0.2/32"]
    found = {}
    for network in draw(st.lists(st.sampled_from(networks), unique=True, max_size=3)):
        hops = draw(st.lists(st.sampled_from([*instances, "gone"]), unique=True, max_size=3))
        nowhere = draw(st.sampled_from([{"target": "blackhole"}, {"peering": "p-1"}]))
        target: dict[str, Any] = {"next_hops": hops} if hops else nowhere
        found[f"r{len(found)}"] = {"destination": network, **target}
    return found


_acl_rules = st.dictionaries(
    LABELS,
    st.fixed_dictionaries(
        {"number": st.integers(4, 32760), "direction": st.sampled_from(["from-subnet", "to-subnet"]),
         "action": st.sampled_from(["allow", "deny"])},
        optional={"protocol": st.sampled_from(["any", "tcp", "icmp"]), "cidr": st.just("10.0.0.0/8")},
    ),
    max_size=3,
).map(lambda said: {name: {**rule, "number": str(rule["number"] // 4 * 4 + place)} for place, (name, rule)
                    in enumerate(said.items())})  # fmt: skip
GROUPS = ["web-servers", "databases", "g-10"]  # none of LABELS


@st.composite
def _groups(draw: st.DrawFn, names: list[str]) -> dict[str, Any]:
    """Some groups, whose rules speak of groups that there are."""
    chosen = draw(st.lists(st.sampled_from(names), unique=True, max_size=3))
    peers = st.sampled_from([*chosen, "default"])
    protocols = st.sampled_from(["any", "tcp", "udp", "icmp", "icmpv6"])
    kinds = st.fixed_dictionaries({"protocol": protocols}) | st.fixed_dictionaries(
        {"protocol": st.sampled_from(["tcp", "udp"]), "ports": st.sampled_from(["80", "443", "1000-2000"])}
    ) | st.just({"protocol": "icmp", "icmp_type": "8"})  # fmt: skip
    whom = st.just({}) | st.fixed_dictionaries({"peers": peers})
    direction = st.fixed_dictionaries({"direction": st.sampled_from(["from-port", "to-port"])})
    within = st.tuples(kinds, whom).map(lambda parts: parts[0] | parts[1]) | st.fixed_dictionaries(
        {"protocol": st.sampled_from(["any", "tcp"]), "cidr": st.sampled_from(["10.0.0.0/8", "fd00::/16"])}
    )
    rule = st.tuples(direction, within).map(lambda parts: parts[0] | parts[1])
    group = st.fixed_dictionaries(
        {"rules": st.dictionaries(LABELS, rule, max_size=2)}, optional={"established": st.sampled_from(["cut", "keep"])}
    )
    return {name: draw(group) for name in chosen}


_words = st.sampled_from(
    ["red", "vpcs", "prod", "subnets", "instances", "web", "cidr", "subnet", "ip", "mac", "server", "10.1.0.0/24",
     "10.1.0.0/16", "10.1.0.9", "02:00:00:00:00:01", "server-1", "", "A", "fd00::/64", "cidr6", "ip6",
     "fd00::9", "a\nb"]
)  # fmt: skip
_keys = _words | st.text(max_size=5) | st.integers() | st.none() | st.booleans() | st.floats()
_scalars = _keys | st.binary(max_size=3) | st.just("x" * 100)
garbage = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_keys, inner, max_size=4),
    max_leaves=20,
)


@st.composite
def almost(draw: st.DrawFn) -> Any:
    """A valid lab in which one value somewhere was replaced by garbage, or one key added."""
    lab: Any = draw(tenants())
    spot, depth = lab, draw(st.integers(0, 8))
    for _ in range(depth):
        branches = [key for key in sorted(spot) if isinstance(spot[key], dict) and spot[key]]
        if not branches:
            break
        spot = spot[draw(st.sampled_from(branches))]
    key = draw(st.sampled_from(sorted(spot))) if spot and draw(st.booleans()) else draw(_keys)
    spot[key] = draw(garbage)
    return lab
