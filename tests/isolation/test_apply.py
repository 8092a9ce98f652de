"""A running lab that changes with packets going on: nothing is lost, it ends as from scratch."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab_fixture import SMALL, command_output, overclos, running, write
from pings_fixture import nothing_lost, pinging
from scripts.overclos import intent
from topologies.emulator.lab import Lab

pytestmark = pytest.mark.root

MORE = SMALL.replace(
    "          b: {{subnet: web, ip: 10.1.0.11, server: server-2}}\n  blue:",
    "          b: {{subnet: web, ip: 10.1.0.11, server: server-2}}\n"
    "          c: {{subnet: web, server: server-2}}\n  blue:",
)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with running(write(tmp_path, SMALL, "apply")) as lab:
        yield lab


PAIRS = (("red.prod.a", "10.1.0.11"), ("blue.prod.b", "10.1.0.10"))


def test_a_changed_file_is_planned_applied_and_probed_while_others_go_on(lab: Lab, tmp_path: Path) -> None:
    more = str(write(tmp_path, MORE, "apply"))
    before = intent.contents(lab).position
    plan = overclos("apply", more, "--plan")
    assert plan.returncode == 0 and "+ instance red.prod.c" in plan.stdout, plan.stderr
    assert re.search(r"^server-1/br-int: \d+ flows added or replaced, 0 removed$", plan.stdout, re.MULTILINE)
    assert intent.contents(lab).position == before  # a plan changes nothing; confirmations may still come in
    with pinging(lab, *PAIRS) as pings:
        done = overclos("apply", more)
    nothing_lost(pings)
    assert done.returncode == 0 and "generation 2; PASS" in done.stdout, done.stdout + done.stderr
    assert overclos("apply", more).stdout == "nothing to change\n"
    exported = tmp_path / "exported.yaml"
    exported.write_text(overclos("export", "--lab", lab.name).stdout)
    assert overclos("apply", str(exported)).stdout == "nothing to change\n"
    command_output(Lab.attach(lab.name), "red.prod.c", ["ping", "-c", "1", "10.1.0.10"])
    with pinging(lab, *PAIRS) as pings:
        assert overclos("apply", str(write(tmp_path, SMALL, "apply"))).returncode == 0
    nothing_lost(pings)
    assert overclos("audit", "--lab", lab.name, "--verify").stdout == "the audit log is whole\n"


def test_what_a_running_lab_cannot_follow_is_refused_before_anything_is_touched(lab: Lab, tmp_path: Path) -> None:
    done = overclos("apply", str(write(tmp_path, SMALL.replace("spines: 2", "spines: 1"), "apply")))
    assert done.returncode == 1 and "would go" in done.stderr and "Traceback" not in done.stderr
    assert overclos("status", lab.name).returncode == 0


def test_a_tenant_sees_its_own_over_the_api(lab: Lab, tmp_path: Path) -> None:
    made = overclos("token", "create", "reader", "--role", "tenant-reader", "--tenant", "red", "--lab", lab.name)
    secret = tmp_path / "red.token"
    secret.write_text(made.stdout)
    given = ("--lab", lab.name, "--token-file", str(secret))
    assert "red.prod.a" in overclos("get", "instances", "red.prod", *given).stdout
    other = overclos("get", "instances", "blue.prod", *given)
    assert other.returncode == 1 and "blue.prod.a" not in other.stdout + other.stderr
