from __future__ import annotations

import re

from latecomer.report.series import KINDS, Axis, Line, series
from latecomer.report.svg import upwards

AXIS = Axis(upwards(0, 10), [(0, "0"), (10, "10")], "wait")
SECOND = 1_000_000


def drawn(*lines: Line) -> str:
    return series("figure-x", "Lines", lines, AXIS, "time")


def test_a_line_is_broken_where_its_value_is_not_known() -> None:
    points = [(0, 1.0), (SECOND, 2.0), (2 * SECOND, None), (3 * SECOND, 4.0), (4 * SECOND, 5.0)]

    svg = drawn(Line("one", points, KINDS[0]))

    assert len(re.findall(r'<path class="curve line-0"', svg)) == 2


def test_a_point_alone_is_a_dot() -> None:
    svg = drawn(Line("one", [(0, 1.0), (SECOND, None)], "late"))

    assert '<circle class="dot late"' in svg
    assert "curve" not in svg


def test_several_lines_have_a_legend() -> None:
    one, two = (Line(name, [(0, 1.0), (SECOND, 2.0)], KINDS[0]) for name in ("<a>", "b"))

    assert "legend" not in drawn(one)
    assert "&lt;a&gt;</li>" in drawn(one, two)
