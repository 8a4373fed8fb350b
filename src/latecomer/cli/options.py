"""Options that several commands have: how the rows of a file are to be read."""

from typing import Annotated

import typer

from latecomer.time import Unit

Time = Annotated[str, typer.Option(help="The column that says when a row happened.")]
Arrival = Annotated[
    str | None,
    typer.Option(
        help="The column that says when a row arrived; without it, rows arrived in the order "
        "of the file."
    ),
]
TimeUnit = Annotated[
    Unit | None, typer.Option(help="Unit of an integer time column: s, ms, us or ns.")
]
