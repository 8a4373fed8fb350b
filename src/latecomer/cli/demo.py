"""`latecomer demo`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from latecomer.cli.options import check_page


def demo(
    *,
    hours: Annotated[
        int,
        typer.Option(min=6, help="Hours of flights to replay, beginning on a summer morning."),
    ] = 288,
    every: Annotated[
        str,
        typer.Option(
            metavar="DURATION",
            help="Hours of flights in each micro-batch, which takes about half a second. If they "
            "are much longer than the waits, early answers are nearly complete.",
        ),
    ] = "8 hours",
    serve: Annotated[
        bool,
        typer.Option("--serve", help="Show a live page during the run, and after it until Ctrl-C."),
    ] = False,
    html: Annotated[Path, typer.Option(metavar="OUT", help="The page to write.")] = Path(
        "latecomer-demo.html"
    ),
) -> None:
    """Count departures per hour and airport, from real flights that were reported out of order.

    Each window is answered after three waits: early, better, final. The answers are checked, and
    drawn on a page.
    """
    from latecomer.demo import run

    check_page(html)
    run(Console(), hours=hours, every=every, html=html, serve=serve)
