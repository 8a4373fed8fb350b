from __future__ import annotations

import pytest

from latecomer.live.sparkline import plot, sparkline, squeezed


def test_bars_rise_from_the_smallest_value_to_the_largest() -> None:
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7], 8) == "▁▂▃▄▅▆▇█"
    assert sparkline([7, 7], 8, low=0) == "██"
    assert sparkline([7, 7], 8) == "▁▁"


def test_a_value_that_is_not_known_is_a_gap() -> None:
    assert sparkline([0, None, 7], 8) == "▁ █"
    assert sparkline([None, None], 8) == ""


@pytest.mark.parametrize("width", [1, 3, 7, 100])
def test_a_line_is_no_wider_than_it_may_be_and_shows_the_largest(width: int) -> None:
    values = [float(at == 17) for at in range(100)]

    assert len(sparkline(values, width)) == width
    assert max(value or 0 for value in squeezed(values, width)) == 1


def test_two_curves_share_their_scale() -> None:
    assert plot([2, 3], [0, 1], 10, 4) == [" •", "•", " ─", "─"]
    assert plot([None], [None], 10, 4) == []
