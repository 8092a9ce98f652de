"""The daemon's command line, as a process: loading Ryu changes the process it is loaded into."""

import subprocess
import sys

import pytest


def launch(*options: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "controller.launcher", *options]
    return subprocess.run(argv, capture_output=True, text=True, timeout=60)


def test_help_teaches_and_lists_ryus_flags_and_ours() -> None:
    done = launch("--help")
    assert done.returncode == 0
    for word in ("kill -HUP PID", "--snapshot", "--status-socket", "--ofp-tcp-listen-port", "--observe-links"):
        assert word in done.stdout
    assert done.stderr == ""  # no word of eventlet's age


@pytest.mark.parametrize("option", ["--no-such-flag", "--settle-s=soon"])
def test_a_wrong_flag_is_an_error(option: str) -> None:
    done = launch(option)
    assert done.returncode in (1, 2) and option[2:8] in done.stderr


def test_an_address_of_another_machine_is_refused() -> None:
    done = launch("--ofp-listen-host", "192.0.2.1")
    assert done.returncode == 1
    assert "cannot listen on 192.0.2.1:6653: Cannot assign requested address" in done.stderr
