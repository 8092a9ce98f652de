"""The lab that the agent cares for, as it is now: others change it, too."""

from collections.abc import Iterator
from contextlib import contextmanager

from topologies.emulator import journal
from topologies.emulator.errors import LabMissing
from topologies.emulator.journal import Journal
from topologies.emulator.lab import Lab


class Running:
    """`lab` may be behind; inside of `alone` it is not."""

    def __init__(self, name: str) -> None:
        self.lab = Lab.attach(name)
        self._version = journal.plan_version(name)

    @property
    def version(self) -> object:
        """Another one whenever the lab's plan was changed."""
        try:
            return journal.plan_version(self.lab.name)
        except FileNotFoundError as error:
            raise LabMissing(self.lab.name, "the lab is gone") from error

    def record(self) -> Journal:
        """The journal. Raises LabMissing when the lab goes or is gone."""
        record = journal.read(self.lab.name)
        if record is None or record.state not in journal.RUNNING:
            raise LabMissing(self.lab.name, "the lab is gone")
        return record

    @contextmanager
    def alone(self) -> Iterator[Journal]:
        """The lab's lock, waited for as long as it takes, and the journal. Raises LabMissing."""
        with self.lab.alone(patience_s=None):
            record = self.record()
            if self.version != self._version:
                self.lab = Lab.attach(self.lab.name)
            try:
                yield record
            finally:
                self._version = self.version
