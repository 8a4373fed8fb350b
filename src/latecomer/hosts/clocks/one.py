"""One clock for all rows: one chain, which gets everything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from latecomer.hosts.clocks.base import RunningPolicy, Turn

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from latecomer.batch import Batch
    from latecomer.clock.watermark import Clock
    from latecomer.hosts.chain import Chain


class One(RunningPolicy):
    """One clock, one chain."""

    def turns(
        self, clock: Clock, inputs: Sequence[Sequence[Batch]], states: Sequence[Batch]
    ) -> Iterator[Turn]:
        """Run the chain."""
        yield Turn(0, clock, inputs, states)

    def due(self, chains: Mapping[int, Chain]) -> int | None:
        """Return when the chain has something to do."""
        return chains[0].due() if 0 in chains else None
