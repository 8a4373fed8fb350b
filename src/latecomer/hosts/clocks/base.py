"""The interface of a running clock policy.

A stage has a chain of operators for each clock. In each micro-batch the policy decides which chains
run, with which rows and by which clock, and which of their outputs leave the stage.
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
    """Number of the chain."""
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
        """Yield a turn for each chain that runs in a micro-batch.

        The stage runs the chain and calls `ran` before it takes the next turn.
        """

    def plan_of(self, slot: int) -> Plan:
        """Return the plan that a chain runs."""
        return self._plan

    def ran(self, turn: Turn, chain: Chain) -> None:  # noqa: B027 - most need not know
        """Record what a chain holds after its turn."""

    def output(self, turn: Turn, output: Output) -> Output | None:
        """Return the output of the stage for an output of a chain, if there is one now."""
        return output

    def after(self, clock: Clock, inputs: Sequence[Sequence[Batch]]) -> Iterator[Output]:
        """End a micro-batch, and yield the outputs of the policy itself."""
        yield from ()

    def forgotten(self) -> Sequence[int]:
        """Return the slots of chains that are no longer needed, and forget them."""
        return ()

    @abstractmethod
    def due(self, chains: Mapping[int, Chain]) -> int | None:
        """Return the smallest `newest` at which there will be something to do, if any."""

    def held(self, chains: Mapping[int, Chain]) -> int:
        """Return the number of rows, or states of rows, that all chains hold."""
        return sum(chain.held for chain in chains.values())

    def save(self) -> bytes:
        """Return the state of the policy."""
        return b""
