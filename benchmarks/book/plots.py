"""Figures as separate files, in light and dark.

They are drawn with `latecomer.report.svg`, like the figures of a report, but each file has its own
style sheet. Curves differ by color and by dashes. Their names are above the frame, in the order of
the curves.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10
from pathlib import Path
from string import Template

from latecomer.report.svg import (
    LEFT,
    TOP,
    WIDTH,
    Figure,
    Scale,
    Ticks,
    across,
    bar,
    box,
    path,
    text_at,
    upwards,
)
from latecomer.report.ticks import count_ticks, second_ticks

Curve = Sequence[tuple[float, float]]

LIGHT = ("#20639b", "#b3401f", "#3d8b52", "#8a5fb0", "#b58900", "#5b6570", "#c2408c", "#2f9aa0")
DARK = ("#6fb1e8", "#f0946f", "#7fcf95", "#c3a0e6", "#e2c25a", "#a2abb5", "#f08cc4", "#71d3d9")
DASHES = ("none", "7 3", "2 3", "9 3 2 3", "4 4", "1 4", "12 4", "6 2 2 2")
_STYLE = Template(Path(__file__).with_suffix(".css").read_text())
_NAME = 18
"""Height of a line of names."""
_LETTER = 7.2
_BAR = 20


@dataclass(frozen=True, slots=True)
class Plot:
    """A finished figure, and the name of its file."""

    name: str
    title: str
    svg: str


def curves(
    name: str,
    title: str,
    found: Mapping[str, Curve],
    labels: tuple[str, str],
    *,
    is_log: tuple[bool, bool] = (False, False),
) -> Plot:
    """Draw a curve for each name; `labels` are those of the two axes."""
    xs = [x for curve in found.values() for x, _ in curve]
    ys = [y for curve in found.values() for _, y in curve]
    x_ticks = powers(min(xs), max(xs)) if is_log[0] else plain_ticks(max(xs))
    low, high = (min(ys), max(ys)) if is_log[1] else (0.0, max(ys) * 1.05 or 1.0)
    y_ticks = powers(low, high) if is_log[1] else plain_ticks(high)
    if is_log[1]:
        low, high = min(low, y_ticks[0][0]), max(high, y_ticks[-1][0])
    x = across(min(xs) if is_log[0] else 0.0, max(xs), is_log=is_log[0])
    up = upwards(low, high)
    y = Scale(up.low, up.high, up.start, up.end, is_log[1])
    figure = Figure(name, title)
    figure.x_axis(x, x_ticks, labels[0])
    figure.y_axis(y, y_ticks, labels[1])
    for number, curve in enumerate(found.values()):
        places = [f"{x(a):g} {y(b):g}" for a, b in curve]
        figure.add(path(f"c{number}", [f"M{'L'.join(places)}"]))
        figure.add(
            *(f'<circle class="d{number}" r="2.5" cx="{x(a):g}" cy="{y(b):g}"/>' for a, b in curve)
        )
    return Plot(name, title, _alone(figure, list(found)))


def bars(
    name: str,
    title: str,
    found: Mapping[str, Mapping[str, float]],
    unit: str,
    *,
    is_log: bool = False,
) -> Plot:
    """Draw groups of bars, one bar for each name in a group."""
    names = list(dict.fromkeys(each for group in found.values() for each in group))
    count = sum(len(group) for group in found.values())
    figure = Figure(name, title, int(TOP + count * _BAR + len(found) * 8 + 12))
    most = max(value for group in found.values() for value in group.values())
    least = min(value for group in found.values() for value in group.values())
    start = 10.0 ** floor(log10(least)) / 2 if is_log else 0.0
    left = max(_LETTER * max(map(len, found)) + 20, LEFT)
    scale = Scale(start, most, left, WIDTH - 100, is_log)
    y = float(TOP)
    for group, values in found.items():
        figure.add(text_at(left - 10, y + _BAR * len(values) / 2 + 5, group, "tick end"))
        for each, value in values.items():
            end = scale(value)
            told = f"{value:,.3g}" if value < 1_000 else f"{value:,.0f}"
            drawn = box(left, y + 2, max(end - left, 1), _BAR - 4)
            kind = f"b{names.index(each)}"
            figure.add(bar(drawn, f"{group}, {each}: {told} {unit}", kind))
            figure.add(text_at(end + 6, y + 14, f"{told} {unit}".strip(), "tick start"))
            y += _BAR
        y += 8
    return Plot(name, title, _alone(figure, names, is_bars=True))


def plain_ticks(high: float) -> Ticks:
    """Return ticks from 0 upwards."""
    if high >= 6:
        return count_ticks(high)
    return [(at, text.removesuffix(" s")) for at, text in second_ticks(high)]


def powers(low: float, high: float) -> Ticks:
    """Return ticks at powers of ten around some values."""
    exponents = range(floor(log10(low)), ceil(log10(high)) + 1)
    marks = [(10.0**e, _power(e)) for e in exponents]
    inside = [mark for mark in marks if low * 0.999 <= mark[0] <= high * 1.001]
    return inside if len(inside) > 1 else marks


def _power(exponent: int) -> str:
    return f"{10**exponent:,}" if exponent >= 0 else f"{10.0**exponent:g}"


def _alone(figure: Figure, names: list[str], *, is_bars: bool = False) -> str:
    """Return a figure as a file, with its title, names, style and background."""
    legend, lines = _legend(names if len(names) > 1 else [], is_bars=is_bars)
    above = _NAME * (lines + 1) + 8
    height = above + figure.height
    light, dark = ("".join(f"--c{n}: {c}; " for n, c in enumerate(all_)) for all_ in (LIGHT, DARK))
    style = _STYLE.substitute(light=light.strip(), dark=dark.strip()) + "".join(
        f".c{n} {{ stroke: var(--c{n}); stroke-width: 2; fill: none; stroke-dasharray: {dash}; }}\n"
        f".d{n}, .b{n} {{ fill: var(--c{n}); }}\n"
        for n, dash in enumerate(DASHES[: len(names)])
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 {-above} {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" role="img" aria-labelledby="title">'
        f'<title id="title">{escape(figure.title)}</title><style>\n{style}</style>'
        f'<rect class="paper" x="0" y="{-above}" width="{WIDTH}" height="{height}"/>'
        f"{text_at(LEFT, 16 - above, figure.title, 'title')}"
        f"{''.join(legend)}\n{chr(10).join(figure.parts)}</svg>\n"
    )


def _legend(names: list[str], *, is_bars: bool) -> tuple[list[str], int]:
    """Return the names, in as many lines as they need, and the number of lines."""
    places, x, line = [], float(LEFT), 1
    for name in names:
        wide = 34 + _LETTER * len(name) + 14
        if x + wide > WIDTH and x > LEFT:
            x, line = float(LEFT), line + 1
        places.append((x, line))
        x += wide
    parts = []
    for number, (name, (at, row)) in enumerate(zip(names, places, strict=True)):
        y = _NAME * (row - 1 - line) + 10
        drawn = box(at, y - 10, 26, 11) if is_bars else f"M{at:g} {y - 4:g}h26"
        parts.append(path(f"{'b' if is_bars else 'c'}{number}", [drawn]))
        parts.append(text_at(at + 32, y, name, "name"))
    return parts, line if names else 0
