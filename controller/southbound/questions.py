"""What a switch was asked through Ryu, so that Ryu parses no answer that nobody awaits."""

from collections import OrderedDict

from controller.southbound.layouts import Malformed
from controller.southbound.limits import Limits

_MAX_ASKED = 1024  # requests that may await their answers
_TYPE, _FLAGS, _MORE = slice(8, 10), slice(10, 12), 1  # of a multipart reply


class Questions:
    """Multipart requests of Ryu and its other applications to one switch, and the answers that come, also ours."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._asked: OrderedDict[int, int] = OrderedDict()  # xid -> type
        self._answer = 0  # bytes of the answer that is under way

    def asked(self, xid: int, kind: int) -> None:
        self._asked[xid] = kind
        if len(self._asked) > _MAX_ASKED:
            self._asked.popitem(last=False)

    def count(self, message: bytes) -> None:
        """Raises Malformed on an answer that goes on and on: we would keep it all."""
        self._answer += len(message)
        if self._answer > self._limits.answer_bytes:
            raise Malformed(f"answer of more than {self._limits.answer_bytes} bytes")
        if not _more_follows(message):
            self._answer = 0

    def answered(self, xid: int, message: bytes) -> None:
        """Raises Malformed unless the answer was asked for."""
        kind = int.from_bytes(message[_TYPE], "big")
        if self._asked.get(xid) != kind:
            raise Malformed(f"multipart answer of type {kind}, which nobody asked for")
        if not _more_follows(message):
            del self._asked[xid]


def _more_follows(message: bytes) -> bool:
    return bool(int.from_bytes(message[_FLAGS], "big") & _MORE)
