"""`latecomer demo`."""

from rich.console import Console


def demo() -> None:
    """Sort a year of real flights that were reported out of order."""
    from latecomer.demo import run

    run(Console())
