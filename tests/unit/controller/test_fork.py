"""Work in a copy of the process."""

import os
import signal

import pytest

from controller.fork import Fork, ForkError


def test_it_works_with_what_there_was_when_it_began() -> None:
    values = [1]
    fork = Fork(lambda: {"values": values, "process": os.getpid()})
    values.append(2)
    told = fork.result()
    assert told["values"] == [1] and told["process"] != os.getpid()


def test_a_result_larger_than_a_pipe_arrives() -> None:
    assert Fork(lambda: "x" * 1_000_000).result() == "x" * 1_000_000


def test_it_holds_no_file_of_the_parents() -> None:
    reading, writing = os.pipe()
    kept = Fork(lambda: [number for number in range(3, 100) if _open(number)]).result()
    os.close(reading)
    os.close(writing)
    assert len(kept) == 1 and kept[0] not in (reading, writing)  # the way to tell


def _open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def test_signals_to_it_are_not_the_parents() -> None:
    before = signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    try:
        with pytest.raises(ForkError, match="killed by signal 15"):
            Fork(lambda: os.kill(os.getpid(), signal.SIGTERM)).result()
    finally:
        signal.signal(signal.SIGTERM, before)


def test_errors_come_back_in_words_and_no_child_is_left() -> None:
    with pytest.raises(ForkError, match="failed: ZeroDivisionError"):
        Fork(lambda: 1 // 0).result()
    with pytest.raises(ForkError, match="failed: TypeError"):
        Fork(lambda: object()).result()
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
