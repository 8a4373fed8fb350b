"""`latecomer profile`: how disordered is a file, and how long to wait?"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import pyarrow as pa
import typer
from rich.console import Console

from latecomer.cli.log_lines import shown
from latecomer.cli.options import Arrival, Time, TimeUnit, check_page

if TYPE_CHECKING:
    from latecomer.plan import Source


def profile(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="A .parquet, .csv or .jsonl file, or a directory of such files. Several "
            "are read as one stream, in the order given.",
        ),
    ],
    *,
    time: Time,
    arrival: Arrival = None,
    key: Annotated[
        list[str] | None,
        typer.Option(help="Also count for each value of this column, to find the worst sources."),
    ] = None,
    unit: TimeUnit = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    html: Annotated[
        Path | None, typer.Option(metavar="OUT", help="Also write a report with figures.")
    ] = None,
) -> None:
    """Measure how disordered a file is, and what each wait would keep and cost.

    The file is read batch by batch. It may be larger than memory, unless it has to be sorted by
    an arrival column.

    Example: latecomer profile trades.parquet --time traded_at --html trades.html
    """
    from latecomer.api.profile import profile_batches, source_of

    check_page(html, files)
    console = Console(stderr=True)
    source = source_of(time, arrival, key, unit)
    with shown(console):
        found = profile_batches(_batches(files, source), source)
    # First the answer: a report that cannot be written must not cost it.
    typer.echo(json.dumps(found.to_dict()) if as_json else str(found))
    if html is not None:
        found.to_html(html)
        console.print(f"wrote {html}", markup=False, highlight=False)


def _batches(files: list[Path], source: Source) -> Iterator[pa.Table]:
    from latecomer.generate.file_batches import read_batches
    from latecomer.report.rows import check_columns, columns_of

    return read_batches(
        files, columns_of(source), check=lambda schema: check_columns(schema, source)
    )
