"""A test case, and how a failing one is made smaller."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import random


@dataclass(frozen=True)
class Case:
    """The options of a query, and its input rows."""

    options: dict[str, Any]
    batches: tuple[tuple[tuple[Any, ...], ...], ...]
    """The rows of each micro-batch, as they arrive."""

    def __str__(self) -> str:
        lines = [f"  {name} = {value!r}" for name, value in self.options.items()]
        lines += [f"  micro-batch {at}: {list(rows)}" for at, rows in enumerate(self.batches)]
        return "\n".join(lines)


class Kind(Protocol):
    """A kind of query: the functions that its module defines."""

    def draw(self, rng: random.Random) -> Case:
        """Draw a case."""

    def found(self, case: Case) -> Any:  # noqa: ANN401 - each kind has answers of its own
        """Run the query on the local host."""

    def expected(self, case: Case) -> Any:  # noqa: ANN401
        """Compute the same result by brute force."""


def failure(kind: Kind, case: Case) -> str | None:
    """Return how a case fails, or None if it passes."""
    expected = kind.expected(case)
    try:
        found = kind.found(case)
    except Exception as error:  # noqa: BLE001 - whatever it raises is a finding
        return f"raises {type(error).__name__}: {error}"
    return None if found == expected else f"expected {expected}\nfound    {found}"


def smallest(case: Case, fails: Callable[[Case], bool]) -> Case:
    """Remove rows and micro-batches for as long as the case still fails."""
    while (smaller := next(filter(fails, _smaller(case)), None)) is not None:
        case = smaller
    return case


def _smaller(case: Case) -> Iterator[Case]:
    batches = case.batches
    for at in range(len(batches)):
        yield replace(case, batches=batches[:at] + batches[at + 1 :])
    for at, rows in enumerate(batches):
        for row in range(len(rows)):
            less = rows[:row] + rows[row + 1 :]
            yield replace(case, batches=(*batches[:at], less, *batches[at + 1 :]))
