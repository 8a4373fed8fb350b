"""Operators: specifications, and the objects that run them.

Two objects share the work. The *specification* (`Sort`) is a frozen dataclass: what is asked
for, small enough to be compared, printed and sent to a worker. It also answers every question that
a planner or a host has about the operator, so that neither has to check its class. The *running
operator* (`Sorter`) does the work. It is driven by rows and watermarks, and knows neither Spark
nor the wait:

    push(rows)          hold or use the rows; return those that are ready and those that are late
    advance(watermark)  use the promise that no row before `watermark` follows

State is kept in two parts. The large part is in `Chunks`, numbered batches that a host keeps
wherever it likes (in memory, in RocksDB) and that an operator reads only when it must. The small
part, above all the index of the chunks, is returned by `save()`. An operator started with both
continues as if it had never stopped.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, Mask, keep_freed_memory
from latecomer.labels import Labelled
from latecomer.time import FOREVER, NEVER, Times

if TYPE_CHECKING:
    from latecomer.operators.clocked import ClockFollower, RunningClocked
    from latecomer.operators.ways import KeyWays

LATE = "late"
"""Reason for which a row is late: it was behind the watermark."""
NO_BEGIN = "no begin"
"""Reason for which a row is late: it ends something that has not begun."""

Takes = Literal["batches", "in order", "one batch"]
"""How an operator wants the rows of a micro-batch: in batches as they come, in order of time, or
all of them in one batch."""

NewColumns = Literal["unused", "null", "refused"]
"""How the state of an operator takes a column that is added to its input: the state has no use for
the column, the column is null in rows held so far, or the query cannot continue."""
ORIGINAL_TIME = "_original_time"
"""Column with the time that a late row had before it was moved. Other rows have their own time."""


@dataclass(frozen=True, slots=True)
class Emission:
    """The rows that one call to an operator returns. No row is in both parts."""

    ready: Batch
    late: Batch
    in_time: tuple[int, ...] = ()
    """For each of several waits, the number of rows that were in time for it and too late for the
    one before. A row is counted once, when this is settled."""


class Chunks(Protocol):
    """Numbered batches, kept by the host."""

    def get(self, number: int) -> Batch:
        """Read the chunk with this number."""

    def put(self, number: int, rows: Batch) -> None:
        """Write a chunk. It replaces an older one of the same number."""

    def drop(self, number: int) -> None:
        """Delete a chunk."""


class Operator(Labelled, ABC):
    """The specification of one step on ordered time."""

    __slots__ = ()

    keeps_keys: ClassVar[bool] = True
    """Whether the key columns of the output have the same values as those of the input."""
    keeps_rows: ClassVar[bool] = False
    """Whether rows come out unchanged, so that their Spark types are kept."""
    carries_columns: ClassVar[bool] = True
    """Whether columns that Spark adds to the input are also in the output."""
    takes: ClassVar[Takes] = "batches"
    """How the rows of a micro-batch must be passed to `push`."""
    late_reason: ClassVar[str] = LATE
    """Reason for which the operator finds a row late."""
    words: ClassVar[str] = ""
    """Result of `describe`, where it is the same for all settings."""
    holds: ClassVar[Literal["rows", "windows"]] = "rows"
    """Whether the state consists of rows, or of states of windows."""
    levels_take: ClassVar[Literal["all rows", "rows at the watermark"]] = "all rows"
    """The rows that each running operator of `start_levels` but the last must be given."""
    numbers: ClassVar[str | None] = None
    """Name of a column of numbers that no two buckets of a micro-batch may share."""

    @property
    def keyed(self) -> tuple[str, ...] | None:
        """Columns in which equal rows must be in one bucket; None if any bucket will do."""
        return None

    @property
    def is_by_row(self) -> bool:
        """Whether the output is a function of single rows, so that nothing is held."""
        return False

    @property
    def leads(self) -> int:
        """Distance by which the output is complete beyond the input; negative if it is behind."""
        return 0

    @property
    def early(self) -> EarlyAggregation | None:
        """Aggregation of rows where they are read, before the shuffle; None if there is none."""
        return None

    @property
    def portable(self) -> Literal["rows", "states"] | None:
        """Form in which the state can be moved to other buckets; None if it cannot be moved."""
        return None

    @property
    def new_columns(self) -> NewColumns:
        """How the state changes when the source of a running query gets another column."""
        return "refused"

    @property
    def rights(self) -> tuple[Any, ...]:
        """Plans of other streams that come in here; only `plan.stage.Meeting` has one."""
        return ()

    def with_rights(self, change: Callable[[Any], Any]) -> Operator:
        """Return the operator with changed plans of the other streams that come in here."""
        return self

    @property
    def brings(self) -> frozenset[str]:
        """Columns that rows do not have yet when they reach the stage.

        They are computed here, or come from another stream whose rows are all in every bucket.
        """
        return frozenset()

    @property
    def about(self) -> tuple[str, ...]:
        """Columns that identify a result; none if two results may be alike."""
        return ()

    def counting(self, name: str) -> Operator:
        """Return the operator with a count, of this name, of the rows that each result is made of.

        Operators that cannot easily count them return themselves.
        """
        return self

    def complete(self, watermark: int, clock: Any) -> int:  # noqa: ANN401 - clocks are above operators
        """Return how far all inputs are complete, given how far the first one is."""
        return watermark

    def led(self, lead: int) -> int:
        """Return how far beyond the newest row all inputs can be complete.

        Args:
            lead: How far beyond it the first input can be complete.
        """
        return lead

    def checked(self, rows: Batch, last: int) -> int:
        """Check that rows may be read in this order.

        Args:
            rows: Rows of one partition, as they are read.
            last: The result of this method for the rows before them.

        Returns:
            The last time that was checked; `last` where any order will do.

        Raises:
            OrderError: The rows are not in order.
        """
        return last

    def deadlines(self, times: Times) -> Times:
        """Return the last watermark at which each row is in time for its first answer."""
        return times

    def last_deadlines(self, times: Times) -> Times:
        """Return the last watermark at which each row is in time for its last answer.

        A row is late iff this is before the watermark.
        """
        return self.deadlines(times)

    def describe(self, schema: pa.Schema) -> str:
        """Return one line: what runs, which variant was chosen and why, and what is held.

        Args:
            schema: The columns of the rows that come in.
        """
        return self.words or self.label

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the columns of the ready rows, given those of the rows that come in."""
        return schema

    def passes(self, watermark: int) -> int:
        """Return how far the output is complete, given how far the input is."""
        return watermark if watermark in (NEVER, FOREVER) else watermark + self.leads

    def passed(self, watermarks: Times) -> Times:
        """Return the same as `passes`, for many watermarks."""
        is_bound = (watermarks == NEVER) | (watermarks == FOREVER)
        return np.where(is_bound, watermarks, watermarks + self.leads)

    def needed(self, watermarks: Times) -> Times:
        """Return how far the input must be complete, given how far the output must be."""
        is_bound = (watermarks == NEVER) | (watermarks == FOREVER)
        return np.where(is_bound, watermarks, watermarks - self.leads)

    def clocked(self, columns: tuple[str, ...]) -> bool:
        """Whether one running operator can serve all keys, each with a clock of its own.

        Args:
            columns: The columns of the key that has a clock for each of its values.
        """
        return False

    def start_clocked(
        self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None
    ) -> RunningClocked:
        """Make the running operator for all keys, each with a clock of its own; see `clocked`.

        Raises:
            TypeError: The operator cannot serve such keys.
        """
        raise TypeError(f"{type(self).__name__} cannot serve keys that have clocks of their own")

    def with_slot(self, columns: tuple[str, ...]) -> Operator:
        """Return the operator for rows with the column `SLOT`, which keeps rows of slots apart.

        Args:
            columns: The columns of the key that has a slot for each of its values.
        """
        return self

    def follows_clocks(self, columns: tuple[str, ...]) -> bool:
        """Whether one running operator can serve all keys behind an operator that is `clocked`."""
        return False

    def start_behind_clocks(
        self, schema: pa.Schema, chunks: Chunks, way: KeyWays, saved: bytes | None = None
    ) -> ClockFollower:
        """Make the running operator for all keys, where `with_slot` returned this one.

        Args:
            schema: The columns of the rows that come in; one of them is the slot.
            chunks: Where its state is kept.
            way: The watermarks so far.
            saved: What `save` returned.

        Raises:
            TypeError: The operator cannot serve such keys.
        """
        raise TypeError(f"{type(self).__name__} cannot serve keys that have clocks of their own")

    def start_levels(
        self, schema: pa.Schema, chunks: Sequence[Chunks], saved: Sequence[bytes | None]
    ) -> Sequence[Running]:
        """Make the running operators of several watermarks, none higher than the one before.

        They share one state. In a micro-batch each is advanced and given the rows, one after the
        other; all but the last are given only those that `levels_take` says. The last one takes in
        the rows for all, and its `held` counts the whole state.

        Raises:
            TypeError: The operator cannot follow several watermarks.
        """
        raise TypeError(f"{type(self).__name__} cannot go by several watermarks")

    @abstractmethod
    def start(self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None) -> Running:
        """Make the running operator, with no state or with that which `save` returned."""


class Running(ABC):
    """A running operator."""

    def __init__(self, given: pa.Schema, made: pa.Schema) -> None:
        """Keep the schemas of the rows that come in and of those that come out."""
        keep_freed_memory()
        self._given, self._out = given, made
        self._nothing = Emission(made.empty_table(), given.empty_table())

    @property
    @abstractmethod
    def held(self) -> int:
        """Number of rows, or states of rows, that are held."""

    @abstractmethod
    def push(self, rows: Batch, side: int = 0) -> Emission:
        """Take in rows, in the order in which they arrived.

        Args:
            rows: The rows.
            side: The stream that the rows are of, where two streams meet: 0 or 1.
        """

    @abstractmethod
    def advance(self, watermark: int) -> Emission:
        """Release what is due, now that no row before `watermark` will follow."""

    def fold(self, states: Batch) -> int:
        """Take in states that rows were aggregated to before the shuffle.

        Returns:
            The number of late rows, which are not taken in.

        Raises:
            TypeError: The operator aggregates nothing.
        """
        raise TypeError(f"states for a {type(self).__name__}, which aggregates nothing")

    def states(self) -> list[Batch]:
        """Return the open states in the form that `fold` takes; see `Operator.portable`.

        Raises:
            TypeError: The operator aggregates nothing.
        """
        raise TypeError(f"states of a {type(self).__name__}, which aggregates nothing")

    def corrections(self) -> Batch | None:
        """Return new versions of final answers that the rows of this micro-batch have changed."""
        return None

    def stops(self, watermark: int) -> list[int]:
        """Split the way to `watermark` so that no single `advance` releases too much at once.

        The last stop is `watermark` itself. Advancing stop by stop gives the same rows as advancing
        in one go, and uses less memory.
        """
        return [watermark]

    def due(self) -> int | None:
        """Return the smallest watermark at which there will be something to do, if any."""
        return None

    def save(self) -> bytes:
        """Return all state that is not in the chunks."""
        return b""

    def _emission(self, ready: Batch | None = None, late: Batch | None = None) -> Emission:
        """Return an emission; a part that is left out has no rows."""
        nothing = self._nothing
        return Emission(
            nothing.ready if ready is None else ready, nothing.late if late is None else late
        )


class Responder(Running):
    """A running operator that emits results as rows come, and nothing when time advances."""

    @property
    def held(self) -> int:
        """Number of rows held: none, unless a subclass overrides this."""
        return 0

    def advance(self, watermark: int) -> Emission:
        """Release nothing."""
        return self._emission()


class EarlyAggregation(Protocol):
    """Aggregation of rows where they are read, before the shuffle."""

    @property
    def minds_arrival(self) -> bool:
        """Whether it matters which of two rows of equal time arrived first."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns that it reads, besides the time."""

    def partial(self, rows: Batch) -> Batch:
        """Return the states of rows."""

    def is_late(self, rows: Batch, watermark: int | Times) -> Mask | None:
        """Mark the rows that are late at a watermark; None if no row is."""


def by(columns: Iterable[str]) -> str:
    """Return the columns of a key as the end of a phrase; "" if there are none."""
    names = ", ".join(columns)
    return f" by {names}" if names else ""
