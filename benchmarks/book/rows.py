"""Something of ours beside something of theirs, the ratio of the two, and whether that is a loss.

Theirs is what a paper says of itself, on its machine, or what somebody else does on this one. A
value that is worse than theirs is a loss, and is told as one, however small.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from benchmarks.book.papers import Told
from benchmarks.book.results import Line

Better = Literal["more", "less", "same", "neither"]
"""What is better. What should be the `same` is lost if it is off by more than a twentieth."""
NEAR = 0.05
FOLDER = "../benchmarks/results"
"""Where results are, seen from the page."""


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison."""

    what: str
    ours: float | None
    theirs: float | None = None
    unit: str = ""
    better: Better = "more"
    bound: str = ""
    """How theirs is put: "up to", "at least", "below", "about"; nothing if it is said exactly."""
    line: Line | None = None
    """Where ours is from."""
    place: str = ""
    """Where theirs is from: a table, a figure or a section; or what it is, if no paper says it."""

    @property
    def said(self) -> str:
        """Write theirs, as it is put, and from where."""
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
    """Put ours beside what a paper says, if it says anything."""
    if told is None:
        return Row(what, ours, line=line, **more)
    more = {"bound": told.bound, "place": told.place, **more}
    return Row(what, ours, told.value, line=line, **more)


def number(value: float | None, unit: str = "") -> str:
    """Write a number for people."""
    if value is None:
        return "–"
    is_whole = float(value).is_integer()
    if abs(value) >= 1_000 or (is_whole and abs(value) >= 1):
        text = f"{value:,.0f}"
    elif abs(value) >= 1:
        text = f"{value:.4g}"
    else:
        # Shares close to one differ in what is missing.
        text = f"{value:.5g}" if value > 0.9 else f"{value:.3g}"
    return f"{text}{unit}" if unit in ("", "×") else f"{text} {unit}"


def worst(rows: Iterable[Row]) -> Row:
    """Find the row that is farthest behind."""
    return max(rows, key=_behind)


def _behind(row: Row) -> float:
    if row.ratio is None or row.ratio <= 0:
        return float("inf")
    if row.better == "same":
        return max(row.ratio, 1 / row.ratio)
    return 1 / row.ratio if row.better == "more" else row.ratio


def table(rows: Iterable[Row], theirs: str = "the paper", what: str = "") -> Iterator[str]:
    """Write rows as a table, each with a link to the line it comes from."""
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
