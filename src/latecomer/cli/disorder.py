"""`latecomer disorder`: put disorder into a file."""

from __future__ import annotations

import json
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import pyarrow as pa
import typer
from rich.console import Console

from latecomer.cli.log_lines import shown
from latecomer.cli.options import Time, TimeUnit
from latecomer.errors import FractionWarning, OptionError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from latecomer.generate.injection.patterns import Drift, Outage, Override, Pattern
    from latecomer.generate.injection.report import DisorderReport

DELAYS = (
    "Distribution of the delays: constant:30s, uniform:MIN:MAX, exponential:MEAN, "
    "normal:MEAN:DEVIATION, lognormal:MEDIAN:SIGMA (each of these three may end in :MIN:MAX), "
    "zipf:SKEW:STEP:MAX, or empirical:FILE:TIME:ARRIVAL for the delays of that file."
)


def disorder(
    source: Annotated[
        Path, typer.Argument(help="A .parquet, .csv or .jsonl file, or a directory.")
    ],
    target: Annotated[Path, typer.Argument(help="The .parquet or .csv file to write.")],
    *,
    time: Time,
    fraction: Annotated[
        float, typer.Option(help="The share of rows that should be out of order, from 0 to 1.")
    ],
    delay: Annotated[str, typer.Option(help=DELAYS)],
    seed: Annotated[int, typer.Option(help="Seed of the random delays.")] = 0,
    arrival: Annotated[
        str | None,
        typer.Option(
            help="The column that says when a row arrived; without it, rows arrived in the order "
            "of the file (with --spark: in order of their times)."
        ),
    ] = None,
    unit: TimeUnit = None,
    drift: Annotated[
        list[str] | None,
        typer.Option(help="PERIOD:FACTOR. With 1d:5 delays grow to five times and shrink, daily."),
    ] = None,
    outage: Annotated[
        list[str] | None,
        typer.Option(
            help="AT:LASTS, AT:LASTS:COLUMN=VALUE for one source, or AT:LASTS:COLUMN:SHARE for a "
            "share of the sources. Rows from AT on are held back, and arrive together after LASTS."
        ),
    ] = None,
    override: Annotated[
        list[str] | None,
        typer.Option(
            help="COLUMN=VALUE:DELAY or COLUMN=VALUE@FRACTION:DELAY, for the delays of one source."
        ),
    ] = None,
    spark: Annotated[
        bool, typer.Option("--spark", help="Run on Spark, and write a directory of Parquet files.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Make a file arrive out of order, reproducibly: shift arrivals and keep event times.

    Writes the rows in order of arrival, with a column `arrival`, and prints a report.

    Example: latecomer disorder in.csv out.csv --time at --fraction 0.3 --delay uniform:1s:60s
    """
    from latecomer.generate.injection.disorder import inject_disorder as run

    console = Console(stderr=True)
    _check_target(source, target, spark=spark)
    patterns: list[Pattern] = [
        *map(_drift, drift or ()),
        *map(_outage, outage or ()),
        *map(_override, override or ()),
    ]
    reports: list[DisorderReport] = []
    with shown(console), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", FractionWarning)
        typed = [time, arrival, *(getattr(pattern, "by", None) for pattern in patterns)]
        rows = _read_on_spark(source) if spark else _read(source, target, typed)
        result = run(
            rows,
            time=time,
            fraction=fraction,
            delay=delay,
            seed=seed,
            arrival=arrival,
            unit=unit,
            patterns=patterns,
            report=reports.append,
        )
        _write(result, target)
    for each in (each for each in said if issubclass(each.category, FractionWarning)):
        console.print(f"latecomer: {each.message}", style="yellow", markup=False, highlight=False)
    typer.echo(json.dumps(asdict(reports[0])) if as_json else str(reports[0]))


def _check_target(source: Path, target: Path, *, spark: bool) -> None:
    """Refuse what cannot be written before any work is done."""
    from latecomer.generate.files import check_apart, check_parent, check_target

    check_apart(target, [source])
    if not spark:
        check_target(target)
        return
    check_parent(target)
    if target.exists() or target.suffix not in ("", ".parquet"):
        message = f'with --spark, "{target}" has to be a new directory for Parquet files.'
        raise OptionError(f"{message}\nHint: choose another name, for example out.parquet.")


def _read(source: Path, target: Path, typed: list[str | None]) -> pa.Table:
    from latecomer.generate.files import read_table

    # From CSV to CSV nothing is to change on the way: zip codes keep their zeros.
    as_text = source.suffix.lower() == target.suffix.lower() == ".csv"
    return read_table(source, typed=[name for name in typed if name] if as_text else None)


def _read_on_spark(source: Path) -> DataFrame:
    from latecomer.runtime.session import session

    if not source.exists():
        raise OptionError(f'there is no file "{source}".\nHint: check the path.')
    # Spark's own way to write times has no statistics, by which a replay finds its way.
    config = {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}
    read = session("latecomer-disorder", config=config).read
    if source.suffix.lower() == ".csv":
        return read.csv(str(source), header=True, inferSchema=True)
    if source.suffix.lower() in (".json", ".jsonl"):
        return read.option("inferTimestamp", "true").json(str(source))
    return read.parquet(str(source))


def _write(result: DataFrame | pa.Table, target: Path) -> None:
    from latecomer.generate.files import write_table

    if hasattr(result, "write"):
        result.write.parquet(str(target))
    else:
        write_table(result, target)


def _drift(text: str) -> Drift:
    from latecomer.generate.injection.patterns import Drift

    period, _, factor = text.partition(":")
    return Drift(period, _number(factor, "drift", text, "PERIOD:FACTOR, for example 1d:5"))


def _outage(text: str) -> Outage:
    from latecomer.generate.injection.patterns import Outage

    form = "AT:LASTS, AT:LASTS:COLUMN=VALUE or AT:LASTS:COLUMN:SHARE"
    match text.split(":"):
        case [at, lasts]:
            return Outage(at, lasts)
        case [at, lasts, who] if "=" in who:
            by, _, value = who.partition("=")
            return Outage(at, lasts, by=by, only=(value,))
        case [at, lasts, by, share]:
            return Outage(at, lasts, by=by, share=_number(share, "outage", text, form))
    raise OptionError(f"cannot read --outage {text!r}.\nHint: write {form}.")


def _override(text: str) -> Override:
    from latecomer.generate.injection.patterns import Override

    form = "COLUMN=VALUE:DELAY or COLUMN=VALUE@FRACTION:DELAY"
    who, _, delay = text.partition(":")
    by, equals, value = who.partition("=")
    if not (equals and delay):
        raise OptionError(f"cannot read --override {text!r}.\nHint: write {form}.")
    value, at, fraction = value.partition("@")
    share = _number(fraction, "override", text, form) if at else None
    return Override(by, value, delay=delay, fraction=share)


def _number(part: str, option: str, text: str, form: str) -> float:
    try:
        return float(part)
    except ValueError:
        raise OptionError(f"cannot read --{option} {text!r}.\nHint: write {form}.") from None
