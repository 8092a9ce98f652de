"""The mininet> prompt on a running lab, and `overclos test` when cables are pulled."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab_fixture import SMALL, overclos, running, write
from topologies.emulator.lab import Lab

pytestmark = pytest.mark.root

# `only` exists in one VPC; `a` and `b` in two.
LAB = SMALL + "          only: {{subnet: web, server: server-1}}\n"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with running(write(tmp_path_factory.mktemp("prompt"), LAB, "prompt")) as lab:
        yield lab


def prompt(lab: Lab, *commands: str, home: Path | None = None) -> list[str]:
    """What the prompt answers to each command; it must answer to all."""
    marked = [line for command in commands for line in (command, "sh echo ===")]
    environ = os.environ | ({"HOME": str(home)} if home else {})
    done = overclos("cli", lab.name, input="\n".join([*marked, "exit"]) + "\n", env=environ, timeout=60)
    # Mininet speaks on standard error; `sh` writes to standard output, once for each command that came back.
    assert done.returncode == 0 and done.stdout.count("===") == len(commands), done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return [line for line in done.stderr.splitlines() if line]


def test_links_tell_what_the_kernel_says(lab: Lab) -> None:
    said = prompt(lab, "link leaf-1 spine-1 down", "links", "link leaf-1 spine-1 up", "links")
    states = [line for line in said if "spine-1-eth1<->leaf-1-eth2" in line]
    assert [state.split("(")[1].strip() for state in states] == ["DOWN DOWN)", "OK OK)"]
    said = prompt(lab, "red.prod.a ip link set eth0 down", "links", "red.prod.a ip link set eth0 up")
    assert any("red.prod.a:eth0<->server-1:red.prod.a.eth0 (DOWN NO-CARRIER)" in line for line in said)


def test_ports_have_the_names_that_people_know(lab: Lab) -> None:
    said = "\n".join(prompt(lab, "net", "ports", "intfs", "dump"))
    assert "server-1-eth1:leaf-1-eth1 blue.prod.a.eth0:eth0" in said and "red.prod.a eth0:red.prod.a.eth0" in said
    hashed = {cable.b.device for cable in lab.plan.cables if cable.tier == "instance"}
    assert not any(device in said for device in hashed if device.startswith("x"))


def test_short_names_do_where_only_one_fits(lab: Lab) -> None:
    said = "\n".join(prompt(lab, "only echo address only", "a echo no", "link only server-1 down", "links",
                            "link only server-1 up", "link a server-1 down", "py only.name"))
    address = next(cable.a.addresses[0] for cable in lab.plan.cables if cable.a.node == "blue.prod.only")
    assert f"address {address.partition('/')[0]}" in said
    assert said.count("*** a could be blue.prod.a, red.prod.a") == 2
    assert "server-1:blue.prod.only.eth0 (DOWN DOWN)" in said and "blue.prod.only" in said.splitlines()[-1]


def test_pingall_pings_within_subnets_and_says_so(lab: Lab) -> None:
    said = "\n".join(prompt(lab, "pingall", "pingpair"))
    assert "red.prod.a -> red.prod.b\n" in said and "X" not in said
    assert "0% dropped (8/8 received), only pairs of one subnet: no others can talk, by design" in said
    assert "0% dropped (2/2 received)" in said


def test_nothing_ends_the_prompt_but_exit(lab: Lab, tmp_path: Path) -> None:
    said = prompt(lab, "iperf red.prod.a blue.prod.b", "iperf only nobody", "link red.prod.b server-2 down",
                  "iperf red.prod.a red.prod.b", "link red.prod.b server-2 up", "x nowhere", "red.prod.a exit",
                  "red.prod.a echo again", "nonsense", "switch leaf-1", "time px raise ValueError", home=tmp_path)
    assert any("red.prod.a: cannot talk to blue.prod.b, by design (they share no subnet)" in line for line in said)
    assert sum("does not reach" in line for line in said) == 1
    assert any("*** KeyError 'nowhere'" in line for line in said) and any(line.endswith("again") for line in said)
    assert list(tmp_path.iterdir()) == []


def test_with_a_link_down_the_lab_is_proven_on_the_others(lab: Lab) -> None:
    prompt(lab, "link leaf-1 spine-1 down")
    try:
        done = overclos("test", lab.name, "--format", "json", "--quiet")
    finally:
        prompt(lab, "link leaf-1 spine-1 up")
    found = json.loads(done.stdout)
    assert [row for row in found["results"] if not row["ok"]] == [] and found["errors"] == []
    assert (done.returncode, done.stderr) == (0, "")
    assert found["fabric"]["summary"] == "5 of 6 watched, 1 down"


@pytest.mark.parametrize(("cable", "faults"), [("red.prod.b server-2", 1), ("leaf-1 server-1", 0)])
def test_what_is_cut_off_is_lost(lab: Lab, cable: str, faults: int) -> None:
    prompt(lab, f"link {cable} down")
    try:
        done = overclos("test", lab.name, "--format", "json")
    finally:
        prompt(lab, f"link {cable} up")
    found = json.loads(done.stdout)
    assert done.returncode == 1 and found["summary"]["loss"] and not found["summary"]["leak"]
    assert len(found["errors"]) == faults
    assert done.stderr.count("listening for late ones") == 1
    assert all(line.startswith("[") for line in done.stderr.splitlines())
