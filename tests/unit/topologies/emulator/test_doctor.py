"""What is missing is named, with what to do about it."""

import pytest

from topologies.emulator import doctor


def test_every_failed_check_says_what_to_do() -> None:
    assert all(check.hint for check in doctor.checks() if not check.ok)


def test_missing_programs_name_their_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.shutil, "which", lambda *_, **__: None)
    found = {check.name: check for check in doctor.checks()}
    assert found["ovs-vswitchd"].ok is False and "openvswitch-switch" in found["ovs-vswitchd"].hint


def test_failed_trial_of_something_optional_is_no_failure() -> None:
    assert doctor._trial("x", ("false",), False, "do without").ok is None
    assert doctor._trial("x", ("false",), True, "needed").ok is False
