"""`latecomer bench`: run the benchmarks of a checkout, and write the benchmark book."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from latecomer.errors import MissingPackageError


def bench(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Benchmarks to run; by default all."),
    ] = None,
    *,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="Use fewer rows: minutes instead of hours. docs/benchmarks.md stays as it is.",
        ),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON lines.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="List the benchmarks.")] = False,
) -> None:
    """Run the benchmarks of a checkout, and write docs/benchmarks.md from what they print.

    Each runs in a process of its own, and its lines are kept in benchmarks/results. One that fails
    does not stop the others.
    """
    asked = {"--quick": quick, "--json": json, "--list": list_}
    options = [name for name, is_asked in asked.items() if is_asked]
    command = [sys.executable, "-m", "benchmarks.book", *(names or []), *options]
    done = subprocess.run(command, cwd=checkout(), check=False)
    raise typer.Exit(done.returncode)


def checkout(module: Path = Path(__file__)) -> Path:
    """Find the checkout: the one that this package runs from, or else where we are."""
    here = Path.cwd()
    for root in (module.parents[3], here, *here.parents):
        if (root / "benchmarks" / "book" / "__main__.py").is_file():
            return root
    message = f"benchmarks are not installed with the package, and {here} is not in a checkout."
    raise MissingPackageError(
        f"{message}\nHint: run it in a clone of the repository, after `make setup`."
    )
