"""Snapshots survive the trip through JSON, and nothing else gets in."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from controller.model.allocate import allocate
from controller.model.codec import CodecError, from_json, to_json
from controller.model.fabric import Attachment, Fabric, Link, Switch
from controller.model.placement import Chassis
from controller.model.snapshot import Snapshot

VPC = {"subnets": {"web": {"cidr": "10.1.0.0/24"}}, "instances": {"a": {"subnet": "web"}}}
INTENT = allocate({"red": {"vpcs": {"v": VPC}}}, ["s1"])
SNAPSHOT = Snapshot(
    generation=7,
    fabric=Fabric(
        9216,
        (Switch("edge-0-0", 0x0A000001, "10.0.0.0/24"), Switch("agg-0-2", 0x0A000201)),
        (Attachment("s1", "10.0.0.2", "02:00:0a:00:00:02", "edge-0-0", 1),),
        (Link("agg-0-2", 1, "edge-0-0", 3),),
    ),
    chassis=(Chassis("s1", "10.0.0.2", "02:00:0a:00:00:02", 0x1_0000_0A00_0002, 0x2_0000_0A00_0002, (1, 2)),),
    intent=INTENT,
)


def test_there_and_back() -> None:
    text = to_json(SNAPSHOT)
    assert from_json(text) == SNAPSHOT
    assert to_json(from_json(text)) == text
    assert hash(from_json(text)) == hash(SNAPSHOT)


def test_the_text_is_stable() -> None:
    text = to_json(Snapshot(1, Fabric(9216, (), (), ())))
    assert text.splitlines()[:2] == ["{", '  "chassis": [],']
    assert text.endswith("}\n")
    assert list(json.loads(text)) == sorted(json.loads(text))


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda data: data.pop("generation"), "generation: is missing"),
        (lambda data: data.update(more=1), "more: unknown key"),
        (lambda data: data.update(generation="1"), "generation: is text .int is expected"),
        (lambda data: data.update(generation=True), "generation: is true or false .int is expected"),
        (lambda data: data.update(generation=1.5), "generation: is the number 1.5 .int is expected"),
        (lambda data: data.update(generation=None), "generation: is null .int is expected"),
        (lambda data: data.update(chassis={}), "chassis: is an object .a list is expected"),
        (lambda data: data.update(fabric=[]), "fabric: is a list .an object is expected"),
        (lambda data: data["chassis"][0].pop("vtep"), "chassis.0.vtep: is missing"),
        (lambda data: data["chassis"][0]["uplinks"].append("3"), "chassis.0.uplinks.2: is text"),
        (lambda data: data["chassis"][0].update(ovsdb=5), "chassis.0.ovsdb: is the number 5 .str is expected"),
        (lambda data: data["fabric"]["switches"][0].update(prefix=[]), "fabric.switches.0.prefix: is a list"),
        (lambda data: data["intent"]["ports"][0].update(mac=None), "intent.ports.0.mac: is null"),
    ],
)
def test_other_shapes_are_refused(edit: Callable[[dict[str, Any]], object], message: str) -> None:
    data = json.loads(to_json(SNAPSHOT))
    edit(data)
    with pytest.raises(CodecError, match=message):
        from_json(json.dumps(data))


@pytest.mark.parametrize(
    "text",
    ["", "{", "null", "[]", "1", '"x"', "NaN", '{"generation": Infinity}', "[" * 100_000, "9" * 9999,
     '{"generation": 1, "generation": 2}', '{"\\ud800": 1}'],
)  # fmt: skip
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(CodecError) as caught:
        from_json(text)
    assert caught.value.hint
