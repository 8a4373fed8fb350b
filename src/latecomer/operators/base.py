"""What an operator is.

Two objects share the work. The *specification* (`Sort`) is a frozen dataclass: what is asked
for, small enough to be compared, printed and sent to a worker. It also says all that a planner or
a host needs to know about the operator, so that neither has to ask of which class it is. The
*running operator* (`Sorter`) does it. It is driven by rows and watermarks, and knows neither Spark
nor the wait:

    push(rows)          hold or use the rows, hand back what is ready and what is late
    advance(watermark)  the promise that nothing before `watermark` follows

State is kept in two parts. What is large goes into `Chunks`, numbered batches that a host keeps
wherever it likes (in memory, in RocksDB) and that an operator reads only when it must. What is
small, above all the index of the chunks, is what `save()` returns. An operator started with both
goes on as if it had never stopped.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

import pyarrow as pa

from latecomer.batch import Batch, Mask
from latecomer.labels import Labelled
from latecomer.time import Times

if TYPE_CHECKING:
    from latecomer.operators.ways import KeyWays

LATE = "late"
"""Why a row came out as late: it was behind the watermark."""
NO_BEGIN = "no begin"
"""Why a row came out as late: it ends something that has not begun."""

Takes = Literal["batches", "in order", "one batch"]
"""How an operator wants the rows of a micro-batch: in batches as they come, in order of time, or
all of them in one batch."""

NewColumns = Literal["unused", "null", "refused"]
"""What an operator does with a column that the rows it holds do not have: it holds nothing that the
column could be in, the column is null in held rows, or it cannot go on."""
ORIGINAL_TIME = "_original_time"
"""The time that a late row had before it was moved; any other row has its own time there."""


@dataclass(frozen=True, slots=True)
class Emission:
    """What one call to an operator hands back. No row is in both parts."""

    ready: Batch
    late: Batch
    in_time: tuple[int, ...] = ()
    """Of rows whose last word is now spoken: how many came in time for each of several waits, and
    too late for the one before."""


class Chunks(Protocol):
    """Numbered batches, kept by the host."""

    def get(self, number: int) -> Batch:
        """Read the chunk with this number."""

    def put(self, number: int, rows: Batch) -> None:
        """Write a chunk, over an older one of the same number."""

    def drop(self, number: int) -> None:
        """Forget a chunk."""


class Operator(Labelled, ABC):
    """The specification of one step on ordered time."""

    __slots__ = ()

    keeps_keys: ClassVar[bool] = True
    """Whether the columns of a key have the same values behind the operator as before it."""
    keeps_rows: ClassVar[bool] = False
    """Whether rows come out just as they came in, so that their Spark types are kept."""
    carries_columns: ClassVar[bool] = True
    """Whether columns that Spark adds to the rows before the operator are there behind it."""
    takes: ClassVar[Takes] = "batches"
    """How the rows of a micro-batch must be handed over."""
    late_reason: ClassVar[str] = LATE
    """Why a row comes out as late."""
    words: ClassVar[str] = ""
    """What `describe` returns, where that is the same for all settings."""
    holds: ClassVar[Literal["rows", "windows"]] = "rows"
    """Whether rows are held, or states of windows."""
    numbers: ClassVar[str | None] = None
    """A column of numbers that must not be the same in two buckets of a micro-batch."""

    @property
    def keyed(self) -> tuple[str, ...] | None:
        """The columns whose equal rows must meet in one bucket; None: any bucket will do."""
        return None

    @property
    def leads(self) -> int:
        """By how much `passes` can be beyond the watermark that it is given."""
        return 0

    @property
    def early(self) -> EarlyAggregation | None:
        """How rows can be aggregated where they are read, before the shuffle; None: they cannot."""
        return None

    @property
    def portable(self) -> Literal["rows", "states"] | None:
        """As what all that is held can be spread over other buckets; None: it cannot be."""
        return None

    @property
    def new_columns(self) -> NewColumns:
        """What becomes of what is held when the source of a running query gets another column."""
        return "refused"

    @property
    def rights(self) -> tuple[Any, ...]:
        """The plans of other streams that come in here; only `plan.stage.Meeting` has one."""
        return ()

    def with_rights(self, change: Callable[[Any], Any]) -> Operator:
        """Change the plans of other streams that come in here."""
        return self

    @property
    def brings(self) -> frozenset[str]:
        """Columns that rows do not have yet where they reach the stage.

        They are computed here, or are those of another stream whose rows are all in every bucket.
        """
        return frozenset()

    @property
    def about(self) -> tuple[str, ...]:
        """The columns of a result that say what it is about, no two alike; none: any may be."""
        return ()

    def counting(self, name: str) -> Operator:
        """Also count, under this name, the rows that a result is made of, where that is easy."""
        return self

    def complete(self, watermark: int, clock: Any) -> int:  # noqa: ANN401 - clocks are above operators
        """Return how far all inputs are complete, given how far the first one is."""
        return watermark

    def led(self, lead: int) -> int:
        """Return by how much all inputs can be complete beyond the newest row.

        Args:
            lead: By how much the first one can.
        """
        return lead

    def checked(self, rows: Batch, last: int) -> int:
        """Check that rows may be read in this order.

        Args:
            rows: Rows of one partition, as they are read.
            last: What this returned for the rows before them.

        Returns:
            The last time that was checked; `last` where any order will do.

        Raises:
            OrderError: They may not.
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
        """Return one line: what runs, which way was chosen and why, and what is held.

        Args:
            schema: The columns of the rows that come in.
        """
        return self.words or self.label

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the columns of the ready rows, given those of the rows that come in."""
        return schema

    def passes(self, watermark: int) -> int:
        """Return up to where the output is complete, given up to where the input is."""
        return watermark

    def clocked(self, columns: tuple[str, ...]) -> bool:
        """Whether one running operator can serve all keys, each with a clock of its own.

        Args:
            columns: The columns whose every value has a clock of its own.
        """
        return False

    def start_clocked(
        self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None
    ) -> RunningClocked:
        """Make the running operator for all keys, each with a clock of its own; see `clocked`.

        Raises:
            TypeError: There is none.
        """
        raise TypeError(f"{type(self).__name__} cannot serve keys that have clocks of their own")

    def start_levels(
        self, schema: pa.Schema, chunks: Sequence[Chunks], saved: Sequence[bytes | None]
    ) -> Sequence[Running]:
        """Make the running operators of several watermarks, none higher than the one before.

        They share what is held. In a micro-batch each is advanced and given the rows, one after the
        other; the last one takes the rows in for all. Its `held` counts all that is held.

        Raises:
            TypeError: There are none.
        """
        raise TypeError(f"{type(self).__name__} cannot go by several watermarks")

    @abstractmethod
    def start(self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None) -> Running:
        """Make the running operator, from nothing or from what `save` returned."""


class Running(ABC):
    """A running operator."""

    def __init__(self, given: pa.Schema, made: pa.Schema) -> None:
        """Note the columns of the rows that come in, and of those that come out."""
        self._given, self._out = given, made

    @property
    @abstractmethod
    def held(self) -> int:
        """Return the number of rows, or states of rows, that are held."""

    @abstractmethod
    def push(self, rows: Batch, side: int = 0) -> Emission:
        """Take in rows, in the order in which they arrived.

        Args:
            rows: The rows.
            side: Of two streams that meet here, which one the rows are of.
        """

    @abstractmethod
    def advance(self, watermark: int) -> Emission:
        """Take note that nothing before `watermark` will follow."""

    def fold(self, states: Batch) -> int:
        """Take in states that rows were aggregated to before the shuffle.

        Returns:
            How many rows were late, and are not taken in.

        Raises:
            TypeError: The operator aggregates nothing.
        """
        raise TypeError(f"states for a {type(self).__name__}, which aggregates nothing")

    def states(self) -> list[Batch]:
        """Return the states that are held and open, as they were folded; see `Operator.portable`.

        Raises:
            TypeError: The operator aggregates nothing.
        """
        raise TypeError(f"states of a {type(self).__name__}, which aggregates nothing")

    def corrections(self) -> Batch | None:
        """Return answers that the rows of a micro-batch have changed after they were final."""
        return None

    def stops(self, watermark: int) -> list[int]:
        """Split the way to `watermark` so that no single `advance` releases too much at once.

        The last stop is `watermark` itself. Advancing by stops gives the same rows as advancing
        in one go; it bounds the memory that a long way takes.
        """
        return [watermark]

    def due(self) -> int | None:
        """Return the smallest watermark at which there will be something to do, if any."""
        return None

    def save(self) -> bytes:
        """Write down all that is not in the chunks."""
        return b""

    def _emission(self, ready: Batch | None = None, late: Batch | None = None) -> Emission:
        """Hand back rows; a part that is left out has none."""
        return Emission(
            self._out.empty_table() if ready is None else ready,
            self._given.empty_table() if late is None else late,
        )


class Responder(Running):
    """A running operator that answers rows as they come, and releases nothing later."""

    @property
    def held(self) -> int:
        """Return the number of rows that are held: none, unless a subclass says otherwise."""
        return 0

    def advance(self, watermark: int) -> Emission:
        """Time going on brings nothing out."""
        return self._emission()


class RunningClocked(Protocol):
    """A running operator for all keys of a bucket, each with a watermark of its own.

    The column `SLOT` of a row says of which key it is.
    """

    @property
    def held(self) -> int:
        """Return the number of rows, or states of rows, that are held."""

    def is_late(self, rows: Batch, watermarks: Times) -> Mask:
        """Mark the rows that are late, given the watermark of each."""

    def push(self, rows: Batch, way: KeyWays) -> None:
        """Take in rows, none of them late; `way` is that of the last advance."""

    def advance(self, way: KeyWays) -> Emission:
        """Let all watermarks move, and release what they pass."""

    def last_due(self, times: Times) -> Times:
        """Return, for the times of rows, the watermarks at which nothing of them is held."""

    def save(self) -> bytes:
        """Write down all that is not in the chunks."""


class EarlyAggregation(Protocol):
    """How rows are aggregated where they are read, before the shuffle."""

    @property
    def minds_arrival(self) -> bool:
        """Whether it matters which of two rows of equal time arrived first."""

    def partial(self, rows: Batch) -> Batch:
        """Make states of rows."""

    def is_late(self, rows: Batch, watermark: int | Times) -> Mask | None:
        """Mark the rows that are late at a watermark; None if no row is."""


def by(columns: Iterable[str]) -> str:
    """Name the columns of a key as the end of a phrase; return "" if there are none."""
    names = ", ".join(columns)
    return f" by {names}" if names else ""
