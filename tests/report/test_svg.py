from __future__ import annotations

import re

import pytest

from latecomer.report.svg import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Figure,
    Scale,
    across,
    bar,
    box,
    named_bars,
    text_at,
    upwards,
)


def texts(svg: str, kind: str) -> list[str]:
    return re.findall(rf'<text class="{kind}"[^>]*>([^<]*)</text>', svg)


def test_a_scale_takes_its_ends_to_the_ends_of_the_frame() -> None:
    x, y = across(10, 20), upwards(0, 5)

    assert (x(10), x(20), x(15)) == (LEFT, WIDTH - RIGHT, (LEFT + WIDTH - RIGHT) / 2)
    # On a page, smaller numbers are higher up.
    assert (y(0), y(5)) == (HEIGHT - BOTTOM, TOP)


def test_on_a_logarithmic_scale_each_tenfold_is_as_long() -> None:
    scale = Scale(1, 1_000, 0, 300, is_log=True)

    assert [scale(value) for value in (1, 10, 100, 1_000)] == [0, 100, 200, 300]


def test_a_scale_of_one_value_has_it_in_the_middle() -> None:
    assert Scale(7, 7, 0, 100)(7) == 50


def test_ticks_whose_texts_would_run_into_each_other_are_left_out() -> None:
    figure = Figure("f", "f")

    figure.x_axis(across(0, 100), [(at, f"{at:,} arrivals") for at in range(0, 101, 5)], "arrivals")

    shown = texts(figure.render(), "tick")
    assert shown[0] == "0 arrivals"
    assert 3 <= len(shown) < 10


def test_of_ticks_above_each_other_the_highest_stays() -> None:
    figure = Figure("f", "f")

    figure.y_axis(upwards(0, 1), [(0, "low"), (0.98, "near"), (1, "high")], "share")

    assert texts(figure.render(), "tick end") == ["low", "high"]


def test_the_title_of_the_left_axis_stands_above_its_ticks() -> None:
    figure = Figure("f", "f")

    figure.y_axis(upwards(0, 1), [(0, "11-14 22:40"), (1, "11-14 22:50")], "event time (UTC)")

    title = re.search(r'<text class="label start" x="4" y="(\d+)">event time', figure.render())
    assert title is not None
    # The text of a tick is 4 below its place, and a letter is about 13 high.
    assert int(title[1]) < TOP + 4 - 13


def test_what_users_named_is_written_and_not_run() -> None:
    name = "<b> & co"

    for drawn in (
        text_at(0, 0, name, "tick"),
        bar(box(0, 0, 1, 1), name),
        Figure("f", name).render(),
        named_bars("f", "f", [(name, 1.0, name)]),
    ):
        assert "&lt;b&gt; &amp; co" in drawn
        assert "<b>" not in drawn


def test_a_figure_has_a_title_that_can_be_read_aloud() -> None:
    drawn = Figure("waits", "What a wait keeps").render()

    assert 'role="img" aria-labelledby="waits-title"' in drawn
    assert '<title id="waits-title">What a wait keeps</title>' in drawn


def test_a_box_is_a_closed_path() -> None:
    assert box(1, 2, 3, 4) == "M1.00 2.00h3.00v4.00h-3.00z"


def test_a_bar_is_as_long_as_its_value() -> None:
    drawn = named_bars("f", "f", [("a", 10, "ten"), ("b", 5, "five"), ("c", 0, "none")])

    widths = [float(width) for width in re.findall(r"h([\d.]+)v", drawn)]
    assert widths[0] == 2 * widths[1]
    # A bar without length can still be pointed at.
    assert widths[2] == 1
    assert texts(drawn, "tick start") == ["ten", "five", "none"]


@pytest.mark.parametrize(("length", "shown"), [(22, "x" * 22), (23, "x" * 21 + "…")])
def test_a_long_name_is_cut(length: int, shown: str) -> None:
    drawn = named_bars("f", "f", [("x" * length, 1.0, "one")])

    assert texts(drawn, "tick end") == [shown]
    assert f"<title>{'x' * length}: one</title>" in drawn


def test_bars_of_nothing_can_be_drawn() -> None:
    assert 'class="bar"' in named_bars("f", "f", [("a", 0.0, "none")])
