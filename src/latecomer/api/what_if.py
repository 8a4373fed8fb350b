"""How wrong would my numbers have been? `latecomer.what_if`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from latecomer.api.readable import Readable
from latecomer.batch import retyped
from latecomer.errors import OptionError
from latecomer.generate.files import read_table
from latecomer.hosts.spark.columns import arrow_schema
from latecomer.plan import Plan
from latecomer.report.what_if import WhatIf, compared
from latecomer.runtime.session import session
from latecomer.time import Duration, format_duration, parse_duration

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_HINT = (
    'Hint: lambda rows, **wait: lc.disordered(rows, time="time").tumbling("1 hour").wait(**wait)'
    ".group_by().aggregate(n=lc.agg.count())."
)


def what_if(
    rows: DataFrame | pa.Table | str | Path,
    query: Callable[..., Readable],
    *,
    waits: Sequence[Duration] = (),
    recalls: Sequence[float] = (),
    every: int | Duration | None = None,
) -> WhatIf:
    """Run a query on recorded rows, and compare its answers for each wait or recall with the truth.

    The rows are run through the query in order of arrival, in this process, once for each wait and
    recall. Once more they are run all together, which gives the true answers. All rows must fit
    into memory.

    Args:
        rows: A batch DataFrame, an Arrow table, or the path of a .parquet, .csv or .jsonl file.
            They must be in order of arrival, unless the query names an `arrival` column.
        query: A function of the rows, as a DataFrame, and of a wait or a recall that it passes on
            to `sort` or `wait`: `lambda rows, **wait: lc.disordered(rows,
            time="time").tumbling("1 hour").wait(**wait).group_by("ad").aggregate(n=agg.count())`.
        waits: The waits to try, such as ["0 seconds", "1 minute"].
        recalls: The recalls to try, such as [0.99, 0.999].
        every: Size of a micro-batch: a number of rows, or a duration by the `arrival` column, such
            as "1 minute". By default there are about 500 micro-batches.

    Returns:
        For each wait and recall: late rows, wrong answers and their errors, the delay of answers,
        and the rows held. Print it.

    Raises:
        OptionError: There is nothing to try, the query does not pass the wait on, or it cannot be
            tried: it has several streams or several waits, or late="adjust" or "fold".
        DurationError: A wait cannot be read.
    """
    asked: dict[str, dict[str, Any]] = {}
    for wait in waits:
        asked[format_duration(parse_duration(wait, "wait"))] = {"wait": wait}
    asked |= {f"recall {recall}": {"recall": recall} for recall in recalls}
    if not asked:
        raise OptionError(
            "there is no wait or recall to try.\n"
            'Hint: for example waits=["0 seconds", "1 minute"], or recalls=[0.99].'
        )
    frame = _frame(rows)
    streams = {name: query(frame, **given) for name, given in asked.items()}
    plans = {name: _checked(stream, asked[name]) for name, stream in streams.items()}
    df = next(iter(streams.values())).df
    return compared(plans, retyped(df.toArrow(), arrow_schema(df)), every)


def _frame(rows: Any) -> DataFrame:  # noqa: ANN401 - what a user passes
    if isinstance(rows, str | Path):
        rows = read_table(rows)
    if isinstance(rows, pa.Table):
        return session().createDataFrame(rows)
    if not hasattr(rows, "isStreaming"):
        raise OptionError(
            f"what_if needs a Spark DataFrame, an Arrow table or a path; got {type(rows)}.\n"
            "Hint: for pandas, pyarrow.Table.from_pandas(rows)."
        )
    if rows.isStreaming:
        raise OptionError(
            "what_if needs recorded rows, and this DataFrame is a stream.\n"
            "Hint: record some of it first, and read that with spark.read."
        )
    found: DataFrame = rows
    return found


def _checked(stream: Any, given: dict[str, Any]) -> Plan:  # noqa: ANN401 - what a user's function returns
    """Return the plan of a query; refuse one that cannot be tried, or does not use the wait."""
    if not isinstance(stream, Readable):
        raise OptionError(
            f"the query must return a stream that is sorted or aggregated; got {type(stream)}.\n"
            f"{_HINT}"
        )
    plan = stream.plan
    is_corrected = plan.late == "adjust" or plan.clock.horizon is not None
    if len(stream.dfs) > 1 or plan.stages[0].join is not None or is_corrected:
        raise OptionError(
            'what_if supports queries of one stream, and neither late="adjust" nor late="fold".\n'
            'Hint: try each stream by itself, with late="divert".'
        )
    recalls = (given["recall"],) if "recall" in given else ()
    waits = () if recalls else (parse_duration(given["wait"], "wait"),)
    if (plan.clock.recalls, () if recalls else plan.clock.waits) != (recalls, waits):
        (text,) = (f"{name}={value!r}" for name, value in given.items())
        raise OptionError(f"the query was given {text}, but does not use it.\n{_HINT}")
    return plan
