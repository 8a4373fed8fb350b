"""What the specifications of optimistic steps have in common."""

from latecomer.operators.base import Operator


class Optimistic(Operator):
    """A step on items and tombstones; the specification."""

    __slots__ = ()

    takes = "one batch"
    """An item and its tombstone of one micro-batch must meet before anything is sent on."""

    @property
    def keyed(self) -> tuple[str, ...] | None:
        """The field `key` of steps that have one: items of a key meet in one bucket."""
        return getattr(self, "key", None)
