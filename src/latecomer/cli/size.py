"""`latecomer size`: how many cores, and how much state, memory and shuffle a query needs."""

import json
from dataclasses import asdict
from typing import Annotated, Literal

import typer

from latecomer.cli.options import Hop


def size(
    *,
    rate: Annotated[float, typer.Option(help="Rows per second.")],
    wait: Annotated[str, typer.Option(help='The longest wait, such as "1 hour" or 1h.')],
    window: Annotated[
        str | None,
        typer.Option(help="The length of windows; without it, rows are sorted."),
    ] = None,
    hop: Hop = None,
    keys: Annotated[int, typer.Option(help="Keys that have rows in one window.")] = 1_000,
    row_bytes: Annotated[int, typer.Option(help="Size of a row in Arrow.")] = 100,
    batch: Annotated[str, typer.Option(help="The length of a micro-batch.")] = "10 seconds",
    late: Annotated[
        Literal["divert", "drop"], typer.Option(help="What happens to late rows.")
    ] = "divert",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Plan cores, state, memory and shuffle for a rate and a wait.

    The coefficients are measured on one machine; docs/scale.md says how, and what they leave out.
    """
    from latecomer.report.size import plan_size
    from latecomer.time import parse_duration

    planned = plan_size(
        rate=rate,
        wait=parse_duration(wait, "wait"),
        row_bytes=row_bytes,
        window=None if window is None else parse_duration(window, "window"),
        hop=None if hop is None else parse_duration(hop, "hop"),
        keys=keys,
        batch=parse_duration(batch, "batch"),
        late=late,
    )
    typer.echo(json.dumps(asdict(planned)) if as_json else str(planned))
