"""The answers of each wait for each window, read from an output while a query writes it.

An output directory of `start` has one directory for each micro-batch, and a record for each that is
complete (`latecomer.hosts.spark.durable.outputs`). Complete micro-batches are read once, with
pyarrow and without Spark. The answers of all keys of a window are added up:

    window    wait       key   departures            window    1 hour   3 hours
    12:00     1 hour     EWR   3                     12:00     7        15
    12:00     1 hour     JFK   4            ─▶
    12:00     3 hours    EWR   15

Corrections of late rows (`is_correction`) are left out: they are neither early nor final.
"""

from collections import defaultdict
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from latecomer.errors import OptionError, listed
from latecomer.hosts.spark.durable.ledger import Ledger
from latecomer.time import TimeColumn, parse_duration

MOST = 60
"""Number of windows that are shown: the newest ones."""
_OURS = {"window", "wait", "is_changed", "is_correction"}

Counts = dict[tuple[int, int], dict[str, float]]
"""For each window, by its start and end in microseconds: the sum of its answers after each wait."""


class Answers:
    """The answers of an output directory, added up by window and wait."""

    def __init__(self, path: str | Path, value: str | None = None) -> None:
        """Remember the directory; nothing is read yet.

        Args:
            path: The directory of the output "ready", on this machine.
            value: The column to add up; without it, the only integer column.
        """
        self._path = Path(path)
        self.value = value
        self._seen: set[int] = set()
        self._counts: Counts = defaultdict(dict)

    def read(self) -> Counts:
        """Read the micro-batches that are complete by now, and return the newest windows.

        Raises:
            OptionError: There is no such directory, or its rows have no such column.
        """
        if not self._path.is_dir():
            raise OptionError(
                f'there is no directory "{self._path}".\n'
                'Hint: name the directory that the output "ready" of start() is written to.'
            )
        for number, directory in sorted(self._complete().items()):
            if number not in self._seen:
                for file in sorted(directory.glob("*.parquet")):
                    self._add(pq.ParquetFile(file, coerce_int96_timestamp_unit="us").read())
                self._seen.add(number)
        newest = sorted(self._counts)[-MOST:]
        self._counts = defaultdict(dict, {window: self._counts[window] for window in newest})
        return dict(self._counts)

    @property
    def waits(self) -> list[str]:
        """The waits that have answers, shortest first."""
        found = {wait for counts in self._counts.values() for wait in counts}
        return sorted(found, key=lambda wait: parse_duration(wait, "wait"))

    def _complete(self) -> dict[int, Path]:
        """Return the directory of each micro-batch that is complete."""
        records = Ledger(None, str(self._path / "_latecomer")).read()
        complete = [record for record in records if "batch" in record]
        return {
            each["batch"]: self._path / f"batch={each['batch']}" / f"attempt={each['attempt']}"
            for each in sorted(complete, key=lambda each: (each["epoch"], each["attempt"]))
        }

    def _add(self, rows: pa.Table) -> None:
        value = self._column(rows.schema)
        if "is_correction" in rows.column_names:
            rows = rows.filter(pc.invert(rows["is_correction"]))
        bounds = {end: pc.struct_field(rows["window"], end) for end in ("start", "end")}
        waits = rows["wait"] if "wait" in rows.column_names else pa.repeat("0 seconds", len(rows))
        table = pa.table({**bounds, "wait": waits, "value": rows[value]})
        sums = table.group_by(["start", "end", "wait"]).aggregate([("value", "sum")])
        places = zip(*(TimeColumn(end).micros(sums).tolist() for end in bounds), strict=True)
        said = zip(sums["wait"].to_pylist(), sums["value_sum"].to_pylist(), strict=True)
        for place, (wait, total) in zip(places, said, strict=True):
            counts = self._counts[place]
            counts[wait] = counts.get(wait, 0) + (total or 0)

    def _column(self, schema: pa.Schema) -> str:
        if "window" not in schema.names:
            raise OptionError(
                f'the rows in "{self._path}" have no column "window"; they have '
                f"{listed(schema.names)}.\n"
                "Hint: only windows have early and final answers."
            )
        found = [
            field.name
            for field in schema
            if field.name not in _OURS
            and (pa.types.is_integer(field.type) or pa.types.is_floating(field.type))
        ]
        if self.value is None:
            integers = [name for name in found if pa.types.is_integer(schema.field(name).type)]
            if len(integers) == 1:
                self.value = integers[0]
        if self.value is None or self.value not in found:
            raise OptionError(
                f'cannot choose the column of "{self._path}" to add up for each window; its '
                f"numeric columns are {listed(found) or 'none'}; got {self.value!r}.\n"
                "Hint: name a count or a sum with value=, or with --value."
            )
        return self.value
