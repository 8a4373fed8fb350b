"""Values over time in one line of a terminal, and two curves in a few lines."""

from collections.abc import Sequence

Values = Sequence[float | None]
"""Values in order of time; None where one is not known."""

_BARS = "▁▂▃▄▅▆▇█"


def sparkline(values: Values, width: int, low: float | None = None) -> str:
    """Return values as bars, the newest at the right, with gaps where a value is not known.

    Args:
        values: The values.
        width: Most characters. If there are more values, each bar is the largest of some.
        low: Value of the lowest bar; without it, the smallest value.
    """
    shown = squeezed(values, width)
    known = [value for value in shown if value is not None]
    if not known:
        return ""
    bottom, top = min(known) if low is None else low, max(known)
    steps = len(_BARS)
    return "".join(
        " " if value is None else _BARS[_step(value, bottom, top, steps)] for value in shown
    )


def squeezed(values: Values, width: int) -> list[float | None]:
    """Return at most `width` values, each the largest of some neighbours."""
    if len(values) <= width:
        return list(values)
    found: list[float | None] = []
    for at in range(width):
        some = values[at * len(values) // width : (at + 1) * len(values) // width]
        found.append(max((value for value in some if value is not None), default=None))
    return found


def plot(upper: Values, lower: Values, width: int, height: int) -> list[str]:
    """Return the lines of a plot of two curves, `upper` as "•" and `lower` as "─".

    The first line is the top. Where both are in one place, "•" is shown.
    """
    above, below = squeezed(upper, width), squeezed(lower, width)
    known = [value for value in (*above, *below) if value is not None]
    if not known:
        return []
    bottom, top = min(known), max(known)
    cells = [[" "] * len(above) for _ in range(height)]
    for values, mark in ((below, "─"), (above, "•")):
        for at, value in enumerate(values):
            if value is not None:
                cells[height - 1 - _step(value, bottom, top, height)][at] = mark
    return ["".join(line).rstrip() for line in cells]


def _step(value: float, low: float, high: float, steps: int) -> int:
    """Return the step of a value, from 0 at `low` to the last at `high`; 0 if these are equal."""
    if high <= low:
        return 0
    return max(min(int((value - low) / (high - low) * steps), steps - 1), 0)
