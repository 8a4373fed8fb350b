"""Comparisons: our value, the other value, their ratio, and whether it is a loss.

The other value is reported by a paper for its machine, or measured here for another system. Any
value of ours that is worse is a loss and marked as one, however small the difference.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from benchmarks.book.papers import Told
from benchmarks.book.results import Line

Better = Literal["more", "less", "same", "neither"]
"""Which values are better. With `same`, a difference of more than a twentieth is a loss."""
NEAR = 0.05
FOLDER = "../benchmarks/results"
"""The folder of results, relative to the page."""


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison."""

    what: str
    ours: float | None
    theirs: float | None = None
    unit: str = ""
    better: Better = "more"
    bound: str = ""
    """Qualifier of the other value: "up to", "at least", "below", "about"; empty if exact."""
    line: Line | None = None
    """The line with our value."""
    place: str = ""
    """The place of the other value in a paper, or its description if it is from no paper."""

    @property
    def said(self) -> str:
        """Return the other value with its qualifier and its place."""
        said = f"{self.bound} {number(self.theirs, self.unit)}".strip()
        return f"{said} ({self.place})" if self.place and self.theirs is not None else said

    @property
    def ratio(self) -> float | None:
        if self.ours is None or not self.theirs:
            return None
        return self.ours / self.theirs

    @property
    def is_loss(self) -> bool:
        if self.ours is None or self.theirs is None or self.better == "neither":
            return False
        if self.better == "same":
            return abs(self.ours - self.theirs) > NEAR * abs(self.theirs)
        return self.ours < self.theirs if self.better == "more" else self.ours > self.theirs


def beside(told: Told | None, what: str, ours: float | None, line: Line | None, **more: Any) -> Row:
    """Compare our value with that of a paper, if the paper reports one."""
    if told is None:
        return Row(what, ours, line=line, **more)
    more = {"bound": told.bound, "place": told.place, **more}
    return Row(what, ours, told.value, line=line, **more)


def number(value: float | None, unit: str = "") -> str:
    """Return a number with few digits, for readers."""
    if value is None:
        return "–"
    is_whole = float(value).is_integer()
    if abs(value) >= 1_000 or (is_whole and abs(value) >= 1):
        text = f"{value:,.0f}"
    elif abs(value) >= 1:
        text = f"{value:.4g}"
    else:
        # Shares close to one get more digits, because they differ in the missing part.
        text = f"{value:.5g}" if value > 0.9 else f"{value:.3g}"
    return f"{text}{unit}" if unit in ("", "×") else f"{text} {unit}"


def worst(rows: Iterable[Row]) -> Row:
    """Return the row with the largest loss."""
    return max(rows, key=_behind)


def _behind(row: Row) -> float:
    if row.ratio is None or row.ratio <= 0:
        return float("inf")
    if row.better == "same":
        return max(row.ratio, 1 / row.ratio)
    return 1 / row.ratio if row.better == "more" else row.ratio


def table(rows: Iterable[Row], theirs: str = "the paper", what: str = "") -> Iterator[str]:
    """Return rows as a table, each with a link to its line."""
    yield f"| {what} | {theirs} | ours | ratio | |"
    yield "| --- | ---: | ---: | ---: | --- |"
    for row in rows:
        mark = "loss" if row.is_loss else ""
        ratio = "–" if row.ratio is None else number(round(row.ratio, 3))
        ours = number(row.ours, row.unit)
        at = f"[line {row.line.number}]({place(row.line)})" if row.line else ""
        last = ", ".join(filter(None, (mark, at)))
        yield f"| {row.what} | {row.said} | {ours} | {ratio} | {last} |"


def place(line: Line) -> str:
    return f"{FOLDER}/{line.benchmark}.jsonl#L{line.number}"
