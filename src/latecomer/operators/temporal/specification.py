"""The base class of the specifications of temporal operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from latecomer.operators.base import Operator

if TYPE_CHECKING:
    import pyarrow as pa

    from latecomer.operators.base import Chunks
    from latecomer.operators.clocked import ClockFollower
    from latecomer.operators.ways import KeyWays


class Temporal(Operator):
    """The specification of an operator on lifetimes."""

    __slots__ = ()

    def follows_clocks(self, columns: tuple[str, ...]) -> bool:
        """Return True: rows of different keys never meet."""
        return True

    def start_behind_clocks(
        self, schema: pa.Schema, chunks: Chunks, way: KeyWays, saved: bytes | None = None
    ) -> ClockFollower:
        # All that are not functions of single rows are a `Settler`.
        return cast("ClockFollower", self.start(schema, chunks, saved))
