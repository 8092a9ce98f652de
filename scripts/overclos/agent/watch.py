"""Sleeping until a process ends, somebody calls, or it is time."""

import os
import select
from collections.abc import Collection

from topologies.emulator.processes import Process


class Watch:
    """Processes need not be children: the kernel tells of their end by a descriptor of each (pidfd)."""

    def __init__(self) -> None:
        self._call = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._poll = select.poll()
        self._poll.register(self._call, select.POLLIN)
        self._descriptors: dict[Process, int] = {}

    def keep(self, wanted: Collection[Process]) -> None:
        """Watch these and no others. One that has ended already wakes at once."""
        for process in self._descriptors.keys() - set(wanted):
            descriptor = self._descriptors.pop(process)
            self._poll.unregister(descriptor)
            os.close(descriptor)
        for process in wanted:
            if process not in self._descriptors:
                self._add(process)

    def wake(self) -> None:
        """End the sleep; any thread may call."""
        os.eventfd_write(self._call, 1)

    def wait(self, seconds: float) -> bool:
        """Sleep; whether something happened before the time was over."""
        happened = self._poll.poll(seconds * 1000)
        try:
            os.eventfd_read(self._call)
        except BlockingIOError:
            pass  # nobody called
        return bool(happened)

    def _add(self, process: Process) -> None:
        try:
            descriptor = os.pidfd_open(process.pid)
        except ProcessLookupError:
            self.wake()
            return
        if process.alive():
            self._descriptors[process] = descriptor
            self._poll.register(descriptor, select.POLLIN)
        else:  # another one has its number by now
            os.close(descriptor)
            self.wake()
