"""What a running clock policy is.

A stage has a chain of operators for each clock. The policy says, in each micro-batch, which chains
run, with which rows and by which clock; and what comes of what they put out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from latecomer.batch import Batch
    from latecomer.clock.watermark import Clock
    from latecomer.hosts.chain import Chain
    from latecomer.hosts.output import Output
    from latecomer.plan import Plan


@dataclass(frozen=True, slots=True)
class Turn:
    """One chain's part in a micro-batch."""

    slot: int
    """Which chain."""
    clock: Clock
    inputs: Sequence[Sequence[Batch]]
    states: Sequence[Batch] = ()


class RunningPolicy(ABC):
    """The clocks of a stage. The defaults are those of one clock for all."""

    def __init__(self, plan: Plan) -> None:
        """Run the clocks of a plan."""
        self._plan = plan

    @abstractmethod
    def turns(
        self, clock: Clock, inputs: Sequence[Sequence[Batch]], states: Sequence[Batch]
    ) -> Iterator[Turn]:
        """Return which chains run in a micro-batch, and with what.

        The stage runs each chain, and tells `ran`, before it asks for the next one.
        """

    def plan_of(self, slot: int) -> Plan:
        """Return what a chain is asked for."""
        return self._plan

    def ran(self, turn: Turn, chain: Chain) -> None:  # noqa: B027 - most need not know
        """Take note of what a chain holds after its turn."""

    def output(self, turn: Turn, output: Output) -> Output | None:
        """Return what comes out of the stage for what came out of a chain, if anything."""
        return output

    def after(self, clock: Clock, inputs: Sequence[Sequence[Batch]]) -> Iterator[Output]:
        """End a micro-batch: report what the policy itself has to say."""
        yield from ()

    def forgotten(self) -> Sequence[int]:
        """Return the slots of chains that are no longer needed, and forget them."""
        return ()

    @abstractmethod
    def due(self, chains: Mapping[int, Chain]) -> int | None:
        """Return the smallest `newest` at which there will be something to do, if any."""

    def held(self, chains: Mapping[int, Chain]) -> int:
        """Return how many rows, or states of rows, all chains hold."""
        return sum(chain.held for chain in chains.values())

    def save(self) -> bytes:
        """Return all that must be known to go on."""
        return b""
