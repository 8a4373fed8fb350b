"""`latecomer simulate`: write a disordered stream made from a seed."""

from pathlib import Path
from typing import Annotated, Literal

import pyarrow as pa
import typer
from rich.console import Console

from latecomer.errors import OptionError
from latecomer.time import TimeColumn, format_duration

Model = Literal["cloud", "android", "synthetic", "join3", "join4"]


def simulate(
    model: Annotated[Model, typer.Argument(help="The kind of stream.")],
    target: Annotated[
        Path,
        typer.Argument(
            metavar="OUT",
            help="The .parquet or .csv file to write; for join3 and "
            "join4 a directory, with a file for each stream.",
        ),
    ],
    *,
    rows: Annotated[
        int, typer.Option(help="Number of rows, except of join3 and join4.")
    ] = 1_000_000,
    seed: Annotated[int, typer.Option(help="Seed of the random numbers.")] = 0,
    percent: Annotated[
        float, typer.Option(help="synthetic: percentage of rows that are delayed.")
    ] = 30,
    amount: Annotated[
        float, typer.Option(help="synthetic: standard deviation of the delays.")
    ] = 64,
    minutes: Annotated[
        int, typer.Option(help="join3, join4: length of the streams, with 100 rows per second.")
    ] = 30,
) -> None:
    """Make a disordered stream from a seed, and measure it.

    cloud and android are disordered like the two logs of the Impatience paper, synthetic is that
    paper's generator, join3 and join4 are the streams of the paper on quality-driven joins.
    """
    from latecomer.generate.files import check_parent, check_target, write_table

    if seed < 0:
        raise OptionError(f"seed must be 0 or more; got {seed}.")
    if model.startswith("join"):
        check_parent(target)
        target.mkdir(exist_ok=True)
    else:
        check_target(target)
    with Console(stderr=True).status(f"Making {model}"):
        streams = _make(model, rows, seed, (percent, amount), minutes)
        for name, table in streams.items():
            path = target / f"{name}.parquet" if name else target
            write_table(table, path)
            typer.echo(f"{path}: {_told(table)}")


def _make(
    model: Model, rows: int, seed: int, shape: tuple[float, float], minutes: int
) -> dict[str, pa.Table]:
    from latecomer.generate.join_streams import join_streams
    from latecomer.generate.logs import android_log, cloud_log
    from latecomer.generate.synthetic import synthetic

    if model in ("join3", "join4"):
        return join_streams(3 if model == "join3" else 4, seed=seed, minutes=minutes)
    if model == "synthetic":
        return {"": synthetic(rows, percent=shape[0], amount=shape[1], seed=seed)}
    return {"": (cloud_log if model == "cloud" else android_log)(rows, seed)}


def _told(table: pa.Table) -> str:
    from latecomer.profile.measures import measure, order_measures

    times = TimeColumn("time", "us").micros(table)
    seen, four = measure(times), order_measures(times)
    return (
        f"{seen.rows:,} rows, {100 * seen.share:.2f} % out of order, largest delay "
        f"{format_duration(seen.largest)}\n"
        f"  inversions {four.inversions:,}, distance {four.distance:,}, runs {four.runs:,}, "
        f"interleaved {four.interleaved:,}"
    )
