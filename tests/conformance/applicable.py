"""The outcome of a vector, and the error for vectors that cannot be run."""

from collections.abc import Callable
from typing import Any

Vector = dict[str, Any]


class NotApplicableError(Exception):
    """A vector cannot be expressed in Latecomer; the message says why."""


Outcome = dict[str, Any] | Exception
"""The results of a vector, or the error that it raised."""


def one_by_one(run: Callable[[Vector], dict[str, Any]]) -> Callable[[list[Vector]], list[Outcome]]:
    """Return a function that runs vectors one after the other."""

    def attempt(vector: Vector) -> Outcome:
        try:
            return run(vector)
        except Exception as error:  # noqa: BLE001 - whatever a vector breaks is its failure
            return error

    return lambda vectors: [attempt(vector) for vector in vectors]
