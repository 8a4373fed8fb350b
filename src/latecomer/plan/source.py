"""How to read the rows of a disordered stream, and what to do with those that are late."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    import pyarrow as pa

    from latecomer.time import TimeColumn

LatePolicy = Literal["divert", "drop", "adjust", "raise"]
"""What to do with late rows; `latecomer.hosts.late` is the only place that does it."""
LATE_POLICIES: tuple[LatePolicy, ...] = get_args(LatePolicy)


@dataclass(frozen=True, slots=True)
class Source:
    """How to read the rows of a disordered stream."""

    time: TimeColumn
    key: tuple[str, ...] = ()
    arrival: TimeColumn | None = None
    ahead: int | None = None
    """Rows further ahead of their arrival than this do not move the clock."""
    end: TimeColumn | None = None
    """Where lifetimes end."""
    begin: TimeColumn | None = None
    """Where lifetimes begin, if begins and ends are rows of their own; `time` is then the one or
    the other."""
    rows: pa.Schema | None = None
    """The columns of the rows, where they must be known before the first row has come."""
    before_1970: bool = False
    """Whether rows may have times before 1970, where a clock of Spark's begins."""
    redact: bool = False
    """Whether errors say nothing of the rows that they are about."""
    held_limit: int | None = None
    """How many rows, or states of rows, a stage may hold in one bucket."""
    number: int = 0
    """Which of the streams that meet in a query this is."""

    @property
    def late(self) -> str:
        """The name of the output of its late rows."""
        return f"late_{self.number}" if self.number else "late"
