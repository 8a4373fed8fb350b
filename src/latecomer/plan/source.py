"""The source of a disordered stream, and what to do with its late rows."""

from dataclasses import dataclass
from typing import Literal, get_args

import pyarrow as pa

from latecomer.time import TimeColumn

LatePolicy = Literal["divert", "drop", "adjust", "raise"]
"""Treatment of late rows; only `latecomer.hosts.late` applies it."""
LATE_POLICIES: tuple[LatePolicy, ...] = get_args(LatePolicy)


@dataclass(frozen=True, slots=True)
class Source:
    """The columns of a disordered stream, and how to read its rows."""

    time: TimeColumn
    key: tuple[str, ...] = ()
    arrival: TimeColumn | None = None
    ahead: int | None = None
    """Rows further ahead of their arrival than this do not move the clock."""
    end: TimeColumn | None = None
    """Column with the ends of lifetimes."""
    begin: TimeColumn | None = None
    """Column with the begins of lifetimes, if begins and ends are separate rows. `time` is then
    either of the two."""
    rows: pa.Schema | None = None
    """Columns of the rows, if they must be known before the first row has come."""
    before_1970: bool = False
    """Whether rows may have times before 1970, where Spark's clock begins."""
    redact: bool = False
    """Whether errors leave out the contents of rows."""
    held_limit: int | None = None
    """Largest number of rows, or states of rows, that a stage may hold in one bucket."""
    number: int = 0
    """Number of this stream among those that meet in a query."""

    @property
    def late(self) -> str:
        """The name of the output of its late rows."""
        return f"late_{self.number}" if self.number else "late"
