"""`latecomer replay`: write the micro-batches of a recording to a directory, as they arrived."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from latecomer.time import TimeColumn, Unit, format_duration, parse_duration


def replay(
    path: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="A Parquet file, a directory of them, or a pattern in quotes."
        ),
    ],
    *,
    to: Annotated[Path, typer.Option(help="The directory to write to.")],
    speed: Annotated[
        float | None, typer.Option(help="Speed of the replay: 60 plays an hour in a minute.")
    ] = None,
    rows_per_batch: Annotated[
        int | None, typer.Option(help="Instead of --speed: the number of rows in each file.")
    ] = None,
    arrival_per_batch: Annotated[
        str | None,
        typer.Option(help='Instead of --speed: the arrivals in each file, such as "10 minutes".'),
    ] = None,
    max_rows_per_batch: Annotated[
        int | None, typer.Option(help="With --speed: the largest number of rows in a file.")
    ] = None,
    every: Annotated[
        str | None,
        typer.Option(help="Pause between files. By default 1 second with --speed, otherwise none."),
    ] = None,
    arrival: Annotated[
        str, typer.Option(help="The column that says when a row arrived.")
    ] = "arrival",
    unit: Annotated[
        Unit | None, typer.Option(help="Unit of an integer arrival column: s, ms, us or ns.")
    ] = None,
) -> None:
    """Write the micro-batches of a recording to a directory, as they arrived.

    For systems that watch a folder: each file appears once it is complete. A replay that was
    stopped continues after the last file. In Spark, use the source "latecomer.replay" instead.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from latecomer.generate.files import check_parent
    from latecomer.generate.replay.directory import replay_to_directory
    from latecomer.generate.replay.rhythm import choose

    check_parent(to)
    rhythm = choose(
        speed=speed,
        rows=rows_per_batch,
        span=arrival_per_batch,
        max_rows=max_rows_per_batch,
        names=("--speed", "--rows-per-batch", "--arrival-per-batch", "--max-rows-per-batch"),
    )
    steps = replay_to_directory(
        path,
        to,
        rhythm,
        arrival=TimeColumn(arrival, unit),
        every=None if every is None else parse_duration(every, "--every"),
    )
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("rows"),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("")
        for step in steps:
            behind = f"[yellow]{format_duration(step.behind)} behind[/]" if step.behind else ""
            progress.update(bar, total=step.total, completed=step.rows, description=behind)
    typer.echo(f"{to}: {step}")
