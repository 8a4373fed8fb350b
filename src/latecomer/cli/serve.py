"""`latecomer serve`: running queries on a page."""

from pathlib import Path
from typing import Annotated

import typer

from latecomer.cli.options import Targets


def serve(
    targets: Targets,
    *,
    host: Annotated[
        str,
        typer.Option(help="The address to listen on. All but loopback require a token."),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="The port. 0 chooses a free one.")
    ] = 0,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="LATECOMER_TOKEN",
            help="Token that browsers must send. By default one is generated if it is needed.",
        ),
    ] = None,
    answers: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help='Directory of the output "ready", to show early and final answers.'
        ),
    ] = None,
    value: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column to add up for each window.")
    ] = None,
    every: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="Seconds between two readings.")
    ] = 2.0,
) -> None:
    """Show running queries on a live page, until Ctrl-C.

    Example: latecomer serve /data/checkpoints/orders --answers /data/orders/ready
    """
    from latecomer.api.dashboard import Dashboard
    from latecomer.live.board import Board
    from latecomer.live.server import Server, wait_for_the_user
    from latecomer.live.sources import source_of
    from latecomer.live.windows import Answers

    shown = Answers(answers, value) if answers else None
    board = Board(source_of(targets))
    server = Server(board, host=host, port=port, token=token, answers=shown, every=every)
    with Dashboard(server) as page:
        typer.echo(f"The page is at {page.url}")
        wait_for_the_user()
        typer.echo("Stopped.")
