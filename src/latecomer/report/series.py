"""Lines over time, several in one figure, with a legend.

A line is broken where a value is not known. A point that has no neighbour is drawn as a dot.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from latecomer.report import svg
from latecomer.report.page import legend
from latecomer.report.svg import Figure, Scale, Ticks, across
from latecomer.report.ticks import time_ticks

KINDS = ("line-0", "line-1", "line-2")
"""Colours of lines that have no kind of their own; from the fourth on, lines share the last."""


@dataclass(frozen=True, slots=True)
class Line:
    """Values over time, in microseconds since 1970, ascending; None where one is not known."""

    text: str
    """Name of the line in the legend."""
    points: Sequence[tuple[int, float | None]]
    kind: str
    """A class of the style sheet: one of `KINDS`, or "late"."""


@dataclass(frozen=True, slots=True)
class Axis:
    """The left axis of a figure."""

    scale: Scale
    ticks: Ticks
    label: str


def series(name: str, title: str, lines: Sequence[Line], axis: Axis, label: str) -> str:
    """Return a figure of lines over a common time axis.

    Args:
        name: Distinguishes this figure from others on the page.
        title: Description of the figure.
        lines: The lines; together they have at least one point.
        axis: The left axis.
        label: Label of the time axis.
    """
    times = [time for line in lines for time, _ in line.points]
    low, high = min(times), max(times)
    x = across(low, high)
    figure = Figure(name, title)
    figure.y_axis(axis.scale, axis.ticks, axis.label)
    figure.x_axis(x, time_ticks(low, high, is_calendar=True), label)
    for line in lines:
        for stretch in _stretches(line.points):
            places = [(x(time), axis.scale(value)) for time, value in stretch]
            if len(places) == 1:
                at, height = places[0]
                figure.add(f'<circle class="dot {line.kind}" cx="{at:g}" cy="{height:g}" r="3"/>')
            else:
                steps = (f"{'L' if n else 'M'}{at:g} {y:g}" for n, (at, y) in enumerate(places))
                figure.add(svg.path(f"curve {line.kind}", steps))
    if len(lines) < 2:  # noqa: PLR2004  the title names a single line
        return figure.render()
    return figure.render() + legend("lines", [(line.kind, line.text) for line in lines])


def _stretches(
    points: Sequence[tuple[int, float | None]],
) -> Iterator[list[tuple[int, float]]]:
    """Yield the pieces of a line between values that are not known."""
    stretch: list[tuple[int, float]] = []
    for time, value in points:
        if value is None:
            if stretch:
                yield stretch
            stretch = []
        else:
            stretch.append((time, value))
    if stretch:
        yield stretch
