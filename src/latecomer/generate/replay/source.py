"""Replay files as a Spark stream: `spark.readStream.format("latecomer.replay")`.

The files hold rows in order of arrival, as `latecomer disorder` writes them. The stream emits a row
once its arrival is reached. So a query meets the disorder of a recording again, at the original
speed, sixty times as fast, or in the same micro-batches every time:

    spark.readStream.format("latecomer.replay").option("speed", 60).load("trades.parquet")

| option            | meaning                                                                     |
| ----------------- | --------------------------------------------------------------------------- |
| `path`            | a file, a directory of `*.parquet` files, or a pattern                      |
| `speed`           | seconds of arrival in a second: 1 as it happened, 60 an hour in a minute    |
| `rowsPerBatch`    | instead of `speed`: number of rows in each micro-batch                      |
| `arrivalPerBatch` | instead of `speed`: span of arrivals in each, for example "10 minutes"      |
| `maxRowsPerBatch` | with `speed`: most rows in a micro-batch                                    |
| `arrival`         | the column with the arrival of a row; "arrival" by default                  |
| `unit`            | unit of an integer arrival: "s", "ms", "us" (the default) or "ns"           |

Several files are merged by (arrival, file name, row), and files may be added while the query runs.
The offset in a checkpoint is a `latecomer.generate.replay.arrivals.Position`.

**A slow query falls behind, and its progress shows it.** With `speed` the clock runs on during a
micro-batch. The next one holds all rows that have come due meanwhile, or `maxRowsPerBatch` of them.
For this source, a query's progress has `endOffset`, the end of the batch, and `latestOffset`, the
end of all rows due. The difference of their `rows` is the backlog. With the other two rhythms,
which have no clock, `latestOffset` is the end of the files.

**Available now** ends the query after the rows that were there when it started, in the requested
rhythm: with `speed` it waits for each arrival, so that an hour at speed 60 takes a minute.
`Trigger.Once` emits all rows that are due in one micro-batch.

PySpark finds this source by itself, through the module `pyspark_latecomer`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyspark
from pyspark.sql.datasource import DataSource

from latecomer.errors import OptionError, SessionError
from latecomer.generate.replay.arrivals import Arrivals
from latecomer.generate.replay.rhythm import Rhythm, choose
from latecomer.time import TimeColumn, check_unit

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSourceStreamReader
    from pyspark.sql.types import StructType


_RHYTHM = ("speed", "rowsPerBatch", "arrivalPerBatch", "maxRowsPerBatch")
_OPTIONS = ("path", *_RHYTHM, "arrival", "unit")
_FIRST_SPARK = (4, 2)


class ReplaySource(DataSource):
    """The data source `latecomer.replay`."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "latecomer.replay"

    def schema(self) -> StructType:
        """Return the columns of the files. This also checks the options when the query is built."""
        _check_spark()
        from latecomer.generate.replay.reader import spark_schema

        return spark_schema(ReplayOptions.read(self.options).arrivals().schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Start a replay."""
        _check_spark()
        from latecomer.generate.replay.reader import ReplayReader

        return ReplayReader(ReplayOptions.read(self.options), schema)


def _check_spark() -> None:
    """Raise if this Spark does not tell a source where it left off.

    It is called before any import that an older Spark does not have.
    """
    version = tuple(int(part) for part in pyspark.__version__.split(".")[:2])
    if version < _FIRST_SPARK:
        raise SessionError(
            "latecomer.replay needs Spark 4.2 or later, which tells a source where it left off; "
            f"this is Spark {pyspark.__version__}.\n"
            "Hint: use a newer Spark, or write the micro-batches to a directory with `latecomer "
            "replay`, and read that."
        )


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """The options of the source, checked."""

    path: str
    rhythm: Rhythm
    arrival: TimeColumn

    @classmethod
    def read(cls, options: Mapping[str, str]) -> ReplayOptions:
        """Read and check Spark's options, whose names are case-insensitive."""
        given = {name.lower(): value for name, value in options.items()}
        unknown = sorted(given.keys() - {name.lower() for name in _OPTIONS})
        if unknown:
            raise OptionError(
                f"latecomer.replay has no option {', '.join(unknown)}.\n"
                f"Hint: its options are {', '.join(_OPTIONS)}."
            )
        if "path" not in given:
            raise OptionError(
                'latecomer.replay needs a path.\nHint: for example .load("trades.parquet").'
            )
        speed, rows, span, max_rows = (given.get(name.lower()) for name in _RHYTHM)
        return cls(
            path=given["path"],
            rhythm=choose(speed=speed, rows=rows, span=span, max_rows=max_rows, names=_RHYTHM),
            arrival=TimeColumn(given.get("arrival", "arrival"), check_unit(given.get("unit"))),
        )

    def arrivals(self) -> Arrivals:
        """Open the files."""
        return Arrivals(self.path, self.arrival)
