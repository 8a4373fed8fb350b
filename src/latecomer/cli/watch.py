"""`latecomer watch`: running queries in a terminal."""

import json
import time
from typing import Annotated

import typer
from rich.console import Console

from latecomer.cli.options import Targets


def watch(
    targets: Targets,
    *,
    every: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="Seconds between two readings.")
    ] = 2.0,
    once: Annotated[bool, typer.Option("--once", help="Print the status once and exit.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a list of statuses as JSON; only with --once.")
    ] = False,
) -> None:
    """Watch running queries: watermark, late rows, recall and waits.

    Example: latecomer watch http://127.0.0.1:9108/metrics
    """
    from rich.live import Live

    from latecomer.errors import OptionError
    from latecomer.live.board import Board
    from latecomer.live.sources import source_of
    from latecomer.live.terminal import view

    if as_json and not once:
        raise OptionError(
            "--json needs --once.\n"
            "Hint: add --once, and call the command again for the next status."
        )
    board = Board(source_of(targets))
    console = Console()
    board.ask()
    if once:
        if board.trouble:
            raise OptionError(board.trouble)
        if as_json:
            typer.echo(json.dumps(board.statuses(), default=str))
        else:
            console.print(view(board))
        return
    try:
        with Live(view(board), console=console, screen=True, auto_refresh=False) as live:
            while True:
                time.sleep(every)
                board.ask()
                live.update(view(board), refresh=True)
    except KeyboardInterrupt:
        console.print(view(board))
