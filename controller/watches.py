"""Which databases of chassis are followed, and what they say is plugged."""

from collections.abc import Mapping

from controller.model.snapshot import Snapshot
from controller.progress import Progress
from controller.southbound.chassis import ChassisNews, ChassisWatch
from controller.southbound.inbox import Inbox


class Watches:
    """One watch per chassis with a database; what they say goes into the progress."""

    def __init__(self, progress: Progress, inbox: Inbox) -> None:
        self._progress = progress
        self._inbox = inbox
        self._watches: dict[str, ChassisWatch] = {}
        self._plugged: dict[tuple[str, str], int] | None = None

    def follow(self, snapshot: Snapshot) -> None:
        """Watches exactly the databases the snapshot names."""
        wanted = {chassis.name: chassis for chassis in snapshot.chassis if chassis.ovsdb is not None}
        for name, watch in list(self._watches.items()):
            if wanted.get(name) != watch.chassis:
                watch.stop()
                del self._watches[name]
                self._progress.plugs.pop(name, None)
                self._progress.problems.pop(name, None)
                self._plugged = None
        for name, chassis in wanted.items():
            if name not in self._watches:
                self._watches[name] = ChassisWatch(chassis, self._inbox)

    def hear(self, news: ChassisNews) -> bool:
        """Takes news of a chassis; whether something may be plugged in otherwise than before."""
        if news.chassis not in self._watches:
            return False
        if news.plugs is None:
            self._progress.problems[news.chassis] = news.problem or "its database cannot be read"
            return False
        self._progress.problems.pop(news.chassis, None)
        self._progress.plugs[news.chassis] = news.plugs
        self._plugged = None
        return True

    def plugged(self) -> Mapping[tuple[str, str], int]:
        """As in Observed; the same object as before if nothing was heard."""
        if self._plugged is None:
            self._plugged = {
                (chassis, port): ofport
                for chassis, plugs in self._progress.plugs.items()
                for port, ofport in plugs.plugged.items()
            }
        return self._plugged

    def blind(self, snapshot: Snapshot) -> frozenset[int]:
        """The br-ints (dpid) of the chassis of which it is not known what is plugged into them."""
        known = self._progress.plugs
        return frozenset(one.int_dpid for one in snapshot.chassis if one.ovsdb is not None and one.name not in known)
