"""`latecomer what-if`: how wrong would the answers of a query have been?"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from latecomer.cli.options import Arrival, Hop, Time, TimeUnit, check_page
from latecomer.errors import OptionError
from latecomer.time import format_duration, parse_duration

if TYPE_CHECKING:
    from latecomer.clock.policy import ClockPolicy
    from latecomer.operators.base import Operator
    from latecomer.plan import Plan, Source

_AGGREGATES = "count, count_distinct, sum, mean, min, max, first, last, variance, stddev"


def what_if(
    file: Annotated[
        Path,
        typer.Argument(help="A .parquet, .csv or .jsonl file, or a directory of such files."),
    ],
    *,
    time: Time,
    arrival: Arrival = None,
    unit: TimeUnit = None,
    window: Annotated[
        str | None,
        typer.Option(help='The length of windows, such as "1 hour"; without it, rows are sorted.'),
    ] = None,
    hop: Hop = None,
    by: Annotated[
        list[str] | None, typer.Option(help="A column to group by; may be given several times.")
    ] = None,
    aggregate: Annotated[
        list[str] | None,
        typer.Option(
            help=f'What to compute in each window, such as "total=sum(price)": {_AGGREGATES}. '
            'May be given several times; "rows=count()" by default.'
        ),
    ] = None,
    wait: Annotated[
        list[str] | None, typer.Option(help='A wait to try, such as "10 seconds"; repeatable.')
    ] = None,
    recall: Annotated[
        list[float] | None, typer.Option(help="A recall to try, such as 0.99; repeatable.")
    ] = None,
    every: Annotated[
        str | None,
        typer.Option(
            help="Size of a micro-batch: a number of rows, or a span of --arrival such as "
            '"1 minute". By default there are about 500 micro-batches.'
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    html: Annotated[
        Path | None,
        typer.Option(metavar="OUT", help="Also write a report with figures and these results."),
    ] = None,
) -> None:
    """Measure how wrong the answers of a query would have been with each wait or recall.

    Runs the query over the rows of a file in order of arrival, and compares its answers with those
    of a query that misses no row. Prints how many rows are late, how many answers are wrong and by
    how much, how long answers take, and how many rows are held.

    Example: latecomer what-if trades.parquet --time traded_at --window "1 minute" --by symbol
    --aggregate "total=sum(price)" --wait "0 seconds" --wait "10 seconds" --recall 0.99
    """
    from latecomer.api.profile import profile, source_of
    from latecomer.generate.files import read_table
    from latecomer.report.rows import check_columns
    from latecomer.report.what_if import compared

    check_page(html, [file])
    source = source_of(time, arrival, by, unit)
    operator = _operator(source, window, hop, aggregate or ["rows=count()"])
    plans = _plans(source, operator, wait or [], recall or [])
    rows = read_table(file)
    check_columns(rows.schema, source)
    next(iter(plans.values())).output_schema(rows.schema)
    found = compared(plans, rows, int(every) if every and every.isdecimal() else every)
    typer.echo(json.dumps(found.to_dict()) if as_json else str(found))
    if html is not None:
        whole = profile(rows, time=time, arrival=arrival, key=by, unit=unit)
        whole.to_html(html, what_if=found)
        Console(stderr=True).print(f"wrote {html}", markup=False, highlight=False)


def _operator(
    source: Source, window: str | None, hop: str | None, aggregates: list[str]
) -> Callable[[int], Operator]:
    """Return what makes the operator, given a wait in microseconds."""
    from latecomer.operators.aggregates.summary import Summary
    from latecomer.operators.sort import Sort
    from latecomer.operators.windows.aggregate import Aggregation
    from latecomer.operators.windows.grid import Windows

    if window is None:
        if hop is not None:
            raise OptionError(
                "--hop needs --window.\nHint: give the length of the windows with --window."
            )
        return lambda _: Sort(source.time)
    size = parse_duration(window, "--window")
    windows = Windows(size, size if hop is None else parse_duration(hop, "--hop"))
    summary = Summary(source.key, tuple(map(_aggregate, aggregates)))
    return lambda wait: Aggregation(source.time, windows, (wait,), (summary,))


def _aggregate(text: str) -> tuple[str, Any]:
    """Read "name=function(column)"."""
    from latecomer.api import agg

    found = re.fullmatch(r"\s*(\w+)\s*=\s*(\w+)\(\s*([^()]*?)\s*\)\s*", text)
    if found is None or found[2] not in _AGGREGATES.split(", "):
        raise OptionError(
            f'cannot read the aggregate "{text}".\n'
            f'Hint: write "total=sum(price)", with one of {_AGGREGATES}.'
        )
    name, function, column = found.groups()
    if not column and function != "count":
        raise OptionError(f'{function} needs a column: "{name}={function}(price)".')
    return name, getattr(agg, function)(*([column] if column else []))


def _plans(
    source: Source, operator: Callable[[int], Operator], waits: list[str], recalls: list[float]
) -> dict[str, Plan]:
    from latecomer.api.waiting import read_recalls
    from latecomer.clock.policy import ClockByRecall, OneClock
    from latecomer.plan import Plan, Stage

    if not waits and not recalls:
        raise OptionError(
            'there is no wait or recall to try.\nHint: --wait "10 seconds", or --recall 0.99.'
        )

    def plan(clock: ClockPolicy, wait: int) -> Plan:
        return Plan(source, clock, "drop", (Stage(source.key, (operator(wait),)),))

    micros = [parse_duration(wait, "--wait") for wait in waits]
    fixed = {format_duration(wait): plan(OneClock((wait,)), wait) for wait in micros}
    return fixed | {
        f"recall {each}": plan(ClockByRecall(recalls=read_recalls(each, None, ())), 0)
        for each in recalls
    }
