"""The agent's working loop: do what is due, say what cannot be done, sleep until something happens."""

import logging

from controller.northbound.store import Memory, Reader
from controller.northbound.store.cache import MODEL_COLUMNS
from scripts.overclos import intent
from scripts.overclos.agent.emulation import Emulation
from scripts.overclos.agent.news import News
from scripts.overclos.agent.running import Running
from scripts.overclos.agent.supervision import Supervisor
from scripts.overclos.agent.told import Told, tell
from scripts.overclos.agent.watch import Watch
from topologies.emulator import processes
from topologies.emulator.errors import LabMissing

LOG = logging.getLogger(__name__)
_LOOK_S = 1.0  # the longest sleep: others change the journal, and nobody is told of it


class Agent:
    """One lab's. Every turn looks at everything anew, and again under the lab's lock before it touches anything: what
    another process did meanwhile, or an earlier agent half did, is then known."""

    def __init__(self, name: str) -> None:
        self._running = Running(name)
        remote = intent.store_remote(self._running.lab)
        memory = Memory(self._running.lab.directory / "agent.seen")
        seen = memory.recall()
        self._watch = Watch()
        self._news = News(remote, seen, self._watch.wake)
        self._supervisor = Supervisor(self._running)
        self._emulation = Emulation(self._running, Reader(remote, MODEL_COLUMNS, seen), memory)
        self._told = Told()
        self._last: object = None

    def run(self) -> None:
        """Until the lab goes."""
        self._news.start()
        try:
            while True:
                self._turn()
                while not self._sleep():
                    pass
        except LabMissing as gone:
            LOG.info("%s", gone)

    def _turn(self) -> None:
        processes.reap()
        mended = self._supervisor.turn()
        if self._news.generation is not None:
            self._emulation.turn(self._news.generation, mended)
        self._watch.keep(self._supervisor.processes)
        self._tell()

    def _sleep(self) -> bool:
        """Until it is worth to look: something happened, the journal or the plan is another one, or something waits to
        be tried again. False if it is not, and all that was looked at are these two files."""
        waits = [wait for wait in (self._supervisor.next_in(), self._emulation.next_in()) if wait is not None]
        happened = self._watch.wait(min([*waits, _LOOK_S]))
        last, self._last = self._last, (self._running.record(), self._running.version)
        return happened or bool(waits) or last != self._last

    def _tell(self) -> None:
        problems = [*self._supervisor.problems.values(), *([self._news.problem] if self._news.problem else [])]
        problems += [f"{name}: {text}" for name, text in self._emulation.problems.items()]
        told = Told(self._emulation.generation, problems, dict(self._supervisor.restarts))
        if told != self._told:
            self._told = told
            tell(self._running.lab.directory, told)
