from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

import latecomer as lc
from latecomer.profile.density import Density
from latecomer.report.figures import (
    SHADES,
    delay_figure,
    is_calendar,
    key_figure,
    level_figure,
    shades,
    time_figure,
    wait_figure,
)
from latecomer.report.svg import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH

if TYPE_CHECKING:
    from latecomer.api.profile import Profile

SECOND = 1_000_000
LATE = (0, 100, 90, 200, 110, 300, 299, 400)


def profile(*times: int, key: list[str] | None = None) -> Profile:
    """Profile times in seconds, which are no dates."""
    rows = pa.table({"time": pa.array(times, pa.int64())})
    if key:
        rows = rows.append_column("key", pa.array(key))
    return lc.profile(rows, time="time", unit="s", key="key" if key else None)


def cells(*rows: int) -> Density:
    count = len(rows)
    return Density(0, 0, np.arange(count), np.zeros(count, np.int64), np.array(rows))


def boxes(svg: str, kind: str = r"cell shade-\d|bar") -> list[tuple[float, ...]]:
    """Return the rectangles of a figure: left, top, width and height."""
    number = r"(-?[\d.]+)"
    paths = re.findall(rf'class="(?:{kind})" d="([^"]*)"', svg)
    return [
        tuple(map(float, found))
        for path in paths
        for found in re.findall(rf"M{number} {number}h{number}v{number}h", path)
    ]


def texts(svg: str, kind: str) -> list[str]:
    return re.findall(rf'<text class="{kind}"[^>]*>([^<]*)</text>', svg)


def test_shades_are_equal_steps_of_the_logarithm() -> None:
    assert shades(cells(1, 7, 200_000)) == [1, 12, 132, 1_516, 17_412]
    assert shades(cells(1, 100_000)) == [1, 10, 100, 1_000, 10_000]
    assert shades(cells(1, 3)) == [1, 2, 3]
    assert shades(cells(1, 1)) == [1]


@pytest.mark.parametrize("draw", [time_figure, level_figure])
def test_cells_stay_within_the_frame(draw: object) -> None:
    found = boxes(draw(profile(*LATE)))  # type: ignore[operator]

    assert found
    for left, top, width, height in found:
        assert width > 0
        assert height > 0
        assert left >= LEFT
        assert left + width <= WIDTH - RIGHT + 0.02
        assert top >= TOP - 0.02
        assert top + height <= HEIGHT - BOTTOM + 0.02


def test_a_stream_in_order_rises_from_left_to_right() -> None:
    found = sorted(boxes(time_figure(profile(*range(8)))))

    tops = [top for _, top, _, _ in found]
    assert tops == sorted(tops, reverse=True)
    assert len(set(tops)) > 1


def test_a_stream_of_one_shade_uses_the_darkest() -> None:
    drawn = time_figure(profile(*range(8)))

    assert f"shade-{SHADES - 1}" in drawn
    assert "shade-0" not in drawn


def test_rows_without_a_delay_are_at_the_foot() -> None:
    drawn = level_figure(profile(*LATE))

    assert texts(drawn, "tick end")[-1] == "none"
    at_foot = [top + height for _, top, _, height in boxes(drawn)]
    # Five of the eight rows have no delay.
    assert at_foot.count(HEIGHT - BOTTOM) >= 1


def test_each_bar_says_how_many_rows_had_which_delay() -> None:
    drawn = delay_figure(profile(*LATE))

    told = re.findall(r"<title>([^<]* rows)</title>", drawn)
    assert sum(int(text.split(": ")[1].removesuffix(" rows")) for text in told) == 3
    # There is one row for each of the delays 1, 10 and 90 seconds.
    assert len(told) == 3
    assert len({height for *_, height in boxes(drawn, "bar")}) == 1


def test_the_curve_of_the_waits_rises_to_the_top() -> None:
    drawn = wait_figure(profile(*LATE))

    (curve,) = re.findall(r'class="curve" d="([^"]*)"', drawn)
    heights = [float(height) for height in re.findall(r"V(-?[\d.]+)", curve)]
    assert heights == sorted(heights, reverse=True)
    assert heights[-1] == TOP
    # The curve rises at delays of 1, 10 and 90 seconds.
    assert len(heights) == 3


def test_chosen_waits_are_marked_and_named() -> None:
    drawn = wait_figure(profile(*LATE))

    assert 'class="mark"' in drawn
    assert any(text == "100 %: 1.5 min" for text in texts(drawn, "told end"))


def test_the_worst_keys_have_a_bar_each() -> None:
    seen = profile(9, 4, 8, key=["a", "b", "b"])

    assert seen.keys is not None
    drawn = key_figure(
        seen.keys, [("b", "2", "100 %", "5 seconds"), ("a", "1", "0 %", "0 seconds")]
    )

    assert texts(drawn, "tick end") == ["b", "a"]
    assert texts(drawn, "tick start") == ["5 seconds", "0 seconds"]


def test_small_integers_are_no_dates_and_timestamps_are() -> None:
    dates = lc.profile(pa.table({"at": pa.array([1, 2], pa.timestamp("s"))}), time="at")

    assert is_calendar(dates)
    assert not is_calendar(profile(1, 2))
    assert is_calendar(profile(1_700_000_000))
    assert "event time (UTC)" in time_figure(dates)
    assert "event time (UTC)" not in time_figure(profile(1, 2))
