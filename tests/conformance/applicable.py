"""What became of a vector, and why some cannot be run."""

from collections.abc import Callable
from typing import Any

Vector = dict[str, Any]


class NotApplicableError(Exception):
    """A vector that cannot be said; tells why."""


Outcome = dict[str, Any] | Exception
"""What a vector gave, or why it gave nothing."""


def one_by_one(run: Callable[[Vector], dict[str, Any]]) -> Callable[[list[Vector]], list[Outcome]]:
    """Run vectors one after the other."""

    def attempt(vector: Vector) -> Outcome:
        try:
            return run(vector)
        except Exception as error:  # noqa: BLE001 - whatever a vector breaks is its failure
            return error

    return lambda vectors: [attempt(vector) for vector in vectors]
