"""The base class of the specifications of optimistic steps."""

from latecomer.operators.base import Operator


class Optimistic(Operator):
    """The specification of a step on items and tombstones."""

    __slots__ = ()

    takes = "one batch"
    """An item and its tombstone of one micro-batch must be in one batch to cancel each other."""

    @property
    def keyed(self) -> tuple[str, ...] | None:
        """Field `key`, for steps that have one: items of equal key must be in one bucket."""
        return getattr(self, "key", None)
