"""What came out of the demo's query, and whether it is right.

**Every row in is ready, late or held, exactly once.** What is held is told twice: by what is
missing from the two outputs, and by the input alone, as the rows after the last watermark. The two
must agree.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from latecomer.disorder.watermark import Clock
from latecomer.time import NEVER, TimeColumn

if TYPE_CHECKING:
    from pathlib import Path

DEPARTED = TimeColumn("departed")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The rows that went in, and those that came out, in the order in which they did."""

    flights: pa.Table
    ready: list[pa.Table]
    """One table for each micro-batch."""
    late: list[pa.Table]
    wait: int

    @classmethod
    def read(cls, flights: pa.Table, ready: Path, late: Path, wait: int) -> Outcome:
        """Read what a query wrote, and check it."""
        outcome = cls(flights, _read(ready), _read(late), wait)
        outcome.check()
        return outcome

    @property
    def rows_ready(self) -> int:
        """How many rows came out in time order."""
        return sum(batch.num_rows for batch in self.ready)

    @property
    def rows_late(self) -> Counter[str]:
        """How many rows came out as late, by reason."""
        reasons = Counter[str]()
        for batch in self.late:
            reasons.update(batch["_reason"].to_pylist())
        return reasons

    @property
    def rows_held(self) -> int:
        """How many rows went in and have not come out."""
        return self.flights.num_rows - self.rows_ready - self.rows_late.total()

    def check(self) -> None:
        """Raise unless every row is accounted for and the ready ones are in order."""
        times = DEPARTED.micros(self.flights, null=NEVER)
        newest = int(times.max(initial=NEVER))
        after = int(np.count_nonzero(times > Clock.at(newest, self.wait).watermark))
        if self.rows_held != after:
            raise AssertionError(
                f"{self.flights.num_rows:,} rows in, {self.rows_ready:,} ready and "
                f"{self.rows_late.total():,} late leave {self.rows_held:,} held; "
                f"{after:,} are after the watermark"
            )
        self._check_order()

    def _check_order(self) -> None:
        before = NEVER
        for batch in self.ready:
            times = DEPARTED.micros(batch)
            origins = np.asarray(batch["origin"].to_pylist())
            if times.min() < before or any(
                np.any(np.diff(times[origins == origin]) < 0) for origin in np.unique(origins)
            ):
                raise AssertionError("a ready row came before one that departed earlier")
            before = times.max()


def _read(output: Path) -> list[pa.Table]:
    """Read what each micro-batch wrote; those without rows may have written nothing."""
    batches = sorted(output.glob("batch=*"), key=lambda path: int(path.name.partition("=")[2]))
    tables = [
        pa.concat_tables(
            # Each file by itself, in the order in which Spark cut them.
            pq.ParquetFile(file, coerce_int96_timestamp_unit="us").read()
            for file in sorted(batch.glob("*.parquet"))
        )
        for batch in batches
    ]
    return [table for table in tables if table.num_rows]
