"""The wait and the recall of a stream over time, as one HTML page.

The page is drawn from the rows of `recall_df()` (`latecomer.hosts.recall_report`). Each point adds
up the counts of all buckets over the period before it, because the target is a recall over such a
period. So the curve begins after the first period. Of several buckets the longest wait is shown.
"""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, timedelta
from itertools import accumulate, groupby
from operator import itemgetter
from typing import Any

from latecomer.report import svg
from latecomer.report.page import Page, Table, section
from latecomer.report.svg import LEFT, RIGHT, WIDTH, Figure, across, upwards
from latecomer.report.ticks import clock, high_share_ticks, micros_of, second_ticks, time_ticks
from latecomer.time import SECOND, format_duration

_MICRO = timedelta(microseconds=1)
_ROWS = 12
_FOOTER = (
    "Recall is known for results that are older than the longest delay seen so far. Written by "
    "Latecomer."
)


@dataclass(frozen=True, slots=True)
class Point:
    """The wait and the counts at one time; times are in microseconds."""

    time: int
    wait: int
    produced: int
    missed: int
    is_full: bool
    """Whether a whole period lies before this point."""

    @property
    def recall(self) -> float | None:
        """The share of true results that were produced; None if there were no results."""
        total = self.produced + self.missed
        return self.produced / total if total else None


def recall_page(rows: Sequence[Mapping[str, Any]], *, title: str, period: timedelta) -> str:
    """Return the page of the recall that a stream has reported.

    Args:
        rows: Rows of `recall_df()` for one target, as mappings by column name.
        title: The title of the page.
        period: The period over which each point adds up its counts.
    """
    points = over(rows, period)
    target = next((row["target"] for row in rows), None)
    if not points:
        return Page(title, "Nothing has been measured yet.", "", [], [], _FOOTER).render()
    return Page(
        title=title,
        headline=_headline(points, target),
        choose=f"<p>Recall is measured over {_said(period)}.</p>",
        notes=[],
        sections=[
            section(
                "Wait",
                "How long rows were held for stragglers; of several buckets, the longest.",
                _wait_figure(points),
                _waits(points),
            ),
            section(
                "Recall",
                f"The share of the true results that were produced, of the last {_said(period)}.",
                _recall_figure(points, target),
                _shares(points),
            ),
        ],
        footer=_FOOTER,
    ).render()


def over(rows: Sequence[Mapping[str, Any]], period: timedelta) -> list[Point]:
    """Return a point for each time, with the counts of all buckets over the period before it."""
    rows = sorted(rows, key=lambda row: row["time"])
    # Spark returns times without a zone, which are in the local time zone.
    times = [micros_of(row["time"].astimezone(UTC)) for row in rows]
    produced = [0, *accumulate(row["produced"] for row in rows)]
    missed = [0, *accumulate(row["missed"] for row in rows)]
    found = []
    for time, some in groupby(zip(times, rows, strict=True), key=itemgetter(0)):
        waits = [row["wait"] * 1_000 for _, row in some if row["wait"] is not None]
        start, stop = bisect_right(times, time - period // _MICRO), bisect_right(times, time)
        found.append(
            Point(
                time,
                max(waits, default=0),
                produced[stop] - produced[start],
                missed[stop] - missed[start],
                time - times[0] >= period // _MICRO,
            )
        )
    return found


def _said(period: timedelta) -> str:
    return format_duration(period // _MICRO)


def _headline(points: Sequence[Point], target: float | None) -> str:
    shares = _known(points)
    lowest = f"was never below {100 * min(shares):.2f} %" if shares else "is not known yet"
    average = sum(point.wait for point in points) // len(points)
    asked = "A fixed wait" if target is None else f"A recall of {100 * target:g} %"
    return (
        f"{asked}: it took {format_duration(average)} of waiting on average, and what was achieved "
        f"{lowest}."
    )


def _wait_figure(points: Sequence[Point]) -> str:
    highest = max(max(point.wait for point in points) / SECOND, 1e-6) * 1.08
    figure = Figure("figure-wait", "The wait over time")
    y = upwards(0, highest)
    figure.y_axis(y, second_ticks(highest), "wait")
    return _curve(figure, points, y, lambda point: point.wait / SECOND)


def _recall_figure(points: Sequence[Point], target: float | None) -> str:
    low = min([*_known(points), 1.0 if target is None else target])
    low = max(low - 0.1 * (1 - low) - 1e-4, 0.0)
    y = upwards(low, 1)
    figure = Figure("figure-recall", "The recall over time")
    figure.y_axis(y, high_share_ticks(low), "recall")
    if target is not None:
        figure.add(
            svg.line((LEFT, y(target)), (WIDTH - RIGHT, y(target)), "axis"),
            svg.text_at(
                WIDTH - RIGHT, y(target) + 16, f"asked for: {100 * target:g} %", "told end"
            ),
        )
    return _curve(figure, points, y, lambda point: point.recall if point.is_full else None)


def _known(points: Sequence[Point]) -> list[float]:
    return [point.recall for point in points if point.is_full and point.recall is not None]


def _curve(
    figure: Figure, points: Sequence[Point], y: svg.Scale, value: Callable[[Point], float | None]
) -> str:
    x = across(points[0].time, points[-1].time)
    ticks = time_ticks(points[0].time, points[-1].time, is_calendar=True)
    figure.x_axis(x, ticks, "event time (UTC)")
    places = [(x(point.time), value(point)) for point in points]
    steps = [f"{at:g} {y(found):g}" for at, found in places if found is not None]
    figure.add(svg.path("curve", [f"{'L' if at else 'M'}{step}" for at, step in enumerate(steps)]))
    return figure.render()


def _waits(points: Sequence[Point]) -> Table:
    told = [(clock(point.time), format_duration(point.wait)) for point in _some(points)]
    return Table(("time", "wait"), told)


def _shares(points: Sequence[Point]) -> Table:
    told = [
        (
            clock(point.time),
            f"{point.produced:,}",
            f"{point.missed:,}",
            "–" if point.recall is None else f"{100 * point.recall:.2f} %",
        )
        for point in _some(points)
    ]
    return Table(("time", "produced", "missed", "recall"), told)


def _some(points: Sequence[Point]) -> Sequence[Point]:
    """Return as many points as fit into the table beside a figure."""
    return points[:: -(-len(points) // _ROWS)]
