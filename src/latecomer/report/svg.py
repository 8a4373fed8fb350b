"""Draw figures as SVG, without a plotting library.

A plotting library would add megabytes of JavaScript to every report, or a large dependency of which
only a small part is needed. A figure is a frame, two scales, ticks, and some paths. All colours are
classes, so that the page's style sheet can set light and dark. Figures are static, and fetch
nothing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from math import log10

WIDTH, HEIGHT = 760, 400
LEFT, RIGHT, TOP, BOTTOM = 92, 40, 34, 56
"""Room around the frame: for ticks and titles of the axes, and for half a tick at either end.

The title of the left axis is above its ticks. Beside them, turned by 90 degrees, it would overlap
long ones such as "11-14 22:40".
"""

Ticks = list[tuple[float, str]]
"""The value and the text of each mark on an axis."""


@dataclass(frozen=True, slots=True)
class Scale:
    """A map from values to places on the page, linear or logarithmic."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False

    def __call__(self, value: float) -> float:
        """Return the place of a value."""
        low, high = self.low, self.high
        if self.is_log:
            low, high, value = log10(low), log10(high), log10(value)
        share = (value - low) / (high - low) if high > low else 0.5
        return round(self.start + share * (self.end - self.start), 2)


def across(low: float, high: float, *, is_log: bool = False, start: float = LEFT) -> Scale:
    """Return a scale from the left of the frame to its right."""
    return Scale(low, high, start, WIDTH - RIGHT, is_log)


def upwards(low: float, high: float) -> Scale:
    """Return a scale from the bottom of the frame to its top."""
    return Scale(low, high, HEIGHT - BOTTOM, TOP)


@dataclass(slots=True)
class Figure:
    """A figure that is being drawn."""

    name: str
    """Distinguishes this figure from others on the page."""
    title: str
    """Description of the figure, for readers who cannot see it."""
    height: int = HEIGHT
    parts: list[str] = field(default_factory=list)

    def add(self, *parts: str) -> None:
        """Add parts on top of the others."""
        self.parts.extend(parts)

    def x_axis(self, scale: Scale, ticks: Ticks, label: str) -> None:
        """Draw the lower axis."""
        bottom = self.height - BOTTOM
        for value, text in _apart(scale, ticks):
            x = scale(value)
            self.add(line((x, TOP), (x, bottom), "grid"), text_at(x, bottom + 19, text, "tick"))
        self.add(line((LEFT, bottom), (WIDTH - RIGHT, bottom), "axis"))
        middle = (LEFT + WIDTH - RIGHT) / 2
        self.add(text_at(middle, self.height - 10, label, "label"))

    def y_axis(self, scale: Scale, ticks: Ticks, label: str) -> None:
        """Draw the left axis."""
        for value, text in _apart_upwards(scale, ticks):
            y = scale(value)
            self.add(line((LEFT, y), (WIDTH - RIGHT, y), "grid"))
            self.add(text_at(LEFT - 8, y + 4, text, "tick end"))
        self.add(text_at(4, 14, label, "label start"))

    def render(self) -> str:
        """Return the figure as SVG."""
        return (
            f'<svg id="{self.name}" viewBox="0 0 {WIDTH} {self.height}" role="img" '
            f'aria-labelledby="{self.name}-title" xmlns="http://www.w3.org/2000/svg">'
            f'<title id="{self.name}-title">{escape(self.title)}</title>'
            f"{''.join(self.parts)}</svg>"
        )


def line(start: tuple[float, float], end: tuple[float, float], kind: str) -> str:
    """Return a straight line."""
    (x1, y1), (x2, y2) = start, end
    return f'<path class="{kind}" d="M{x1:g} {y1:g}L{x2:g} {y2:g}"/>'


def path(kind: str, steps: Iterable[str]) -> str:
    """Return a path, given the steps of its SVG path data."""
    return f'<path class="{kind}" d="{"".join(steps)}"/>'


def box(x: float, y: float, width: float, height: float) -> str:
    """Return a rectangle as a part of a path."""
    return f"M{x:.2f} {y:.2f}h{width:.2f}v{height:.2f}h{-width:.2f}z"


def bar(drawn: str, told: str, kind: str = "bar") -> str:
    """Return a rectangle, made by `box`, that shows the text `told` when pointed at."""
    return f'<path class="{kind}" d="{drawn}"><title>{escape(told)}</title></path>'


def text_at(x: float, y: float, text: str, kind: str) -> str:
    """Return a text at a place."""
    return f'<text class="{kind}" x="{x:g}" y="{y:g}">{escape(text)}</text>'


_ROW = 26
_MARGIN = 14


def named_bars(name: str, title: str, rows: Sequence[tuple[str, float, str]]) -> str:
    """Return a figure with a bar for each name, as long as its value, and a text beside it."""
    figure = Figure(name, title, _MARGIN + _ROW * len(rows) + 8)
    longest = max(value for _, value, _ in rows)
    left, right = 190, WIDTH - 110
    for at, (key, value, text) in enumerate(rows):
        y = _MARGIN + at * _ROW
        width = (right - left) * value / max(longest, 1e-9)
        figure.add(
            text_at(left - 10, y + 16, _cut(key), "tick end"),
            bar(box(left, y + 3, max(width, 1), _ROW - 8), f"{key}: {text}"),
            text_at(left + width + 8, y + 16, text, "tick start"),
        )
    return figure.render()


def _cut(text: str) -> str:
    most = 22
    return text if len(text) <= most else text[: most - 1] + "…"


_LETTER = 7
"""Approximate width of a letter."""


def _apart(scale: Scale, ticks: Ticks) -> Ticks:
    """Return the ticks without those whose texts would overlap."""
    kept: Ticks = []
    for value, text in ticks:
        room = _LETTER * len(text) / 2 + 6
        if not kept or scale(value) - room > scale(kept[-1][0]) + _LETTER * len(kept[-1][1]) / 2:
            kept.append((value, text))
    return kept


LINE = 16
"""Approximate height of a line of text."""


def _apart_upwards(scale: Scale, ticks: Ticks) -> Ticks:
    """Return the ticks without those too close to the next one kept above; the last one stays."""
    kept: Ticks = []
    for value, text in reversed(ticks):
        if not kept or scale(value) - scale(kept[-1][0]) >= LINE:
            kept.append((value, text))
    return kept[::-1]
