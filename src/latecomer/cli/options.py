"""Options that several commands have: how the rows of a file are read, and where a page goes."""

from collections.abc import Iterable
from pathlib import Path
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
Hop = Annotated[str | None, typer.Option(help="How far apart windows begin, if they overlap.")]
Targets = Annotated[
    list[str],
    typer.Argument(
        metavar="TARGET...",
        help="The address of a Prometheus endpoint, the checkpoint of a query, or an event log of "
        "Spark.",
    ),
]


def check_page(html: Path | None, sources: Iterable[Path] = ()) -> None:
    """Refuse a page in a directory that does not exist, or at the path of an input file.

    Raises:
        OptionError: It cannot be written there.
    """
    from latecomer.generate.files import check_apart, check_parent

    if html is not None:
        check_parent(html)
        check_apart(html, sources)
