"""`latecomer bench`: run the benchmarks of a checkout, and write the benchmark book."""

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from latecomer.errors import MissingPackageError


def bench(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Benchmarks to run. By default all of them run."),
    ] = None,
    *,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="Use fewer rows, in minutes, not hours. docs/benchmarks.md does not change.",
        ),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON lines.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="List the benchmarks.")] = False,
) -> None:
    """Run the benchmarks of a checkout, and write docs/benchmarks.md from their results.

    Each benchmark runs in its own process, and its results are kept in benchmarks/results. If one
    fails, the others still run.
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
