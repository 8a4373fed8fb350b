from __future__ import annotations

from latecomer.live import figures
from latecomer.live.history import Sample, delays
from latecomer.live.sections import sections
from tests.support.statuses import START, status

SAMPLES = [Sample(START + n * 1_000_000, status(n)) for n in range(5)]
UNKNOWN = [Sample(0, {}), Sample(1, {})]


def test_all_figures_can_be_drawn() -> None:
    counts, total = delays(SAMPLES[-1]) or (None, 0)
    assert counts is not None

    for drawn in (
        figures.delays_now(counts, total),
        figures.late_share(SAMPLES),
        figures.behind(SAMPLES),
        figures.waits_over_time(SAMPLES),
        figures.recalls_over_time(SAMPLES),
        figures.micro_batches(SAMPLES),
        figures.late_keys([("a", 3)]),
    ):
        assert drawn.startswith("<svg")


def test_unknown_values_are_not_drawn() -> None:
    assert figures.late_share(UNKNOWN) == ""
    assert figures.behind(UNKNOWN) == ""
    assert figures.waits_over_time(UNKNOWN) == ""
    assert figures.recalls_over_time(UNKNOWN) == ""
    assert figures.micro_batches(UNKNOWN) == ""
    assert figures.late_keys([]) == ""
    assert figures.early_and_final({}, [], "count") == ""


def test_rows_without_a_delay_are_no_bar() -> None:
    sample = Sample(0, {"delays": [[0, 60]]})
    in_order = delays(sample)
    assert in_order is not None

    assert figures.delays_now(*in_order) == ""
    assert "<svg" not in "".join(sections([sample]))


def test_a_bar_shows_the_early_result_below_the_later_difference() -> None:
    counts = {(0, 10): {"1 s": 7.0, "1 min": 15.0}, (10, 20): {"1 s": 3.0}}

    drawn = figures.early_and_final(counts, ["1 s", "1 min"], "departures")

    assert drawn.count('class="bar shade-4"') == 2
    assert drawn.count('class="bar shade-2"') == 1
    assert "after 1 min: 15 departures" in drawn
    assert "added after 1 min" in drawn


def test_from_the_fourth_on_lines_share_a_colour() -> None:
    assert [figures.kind_of(n) for n in range(4)] == ["line-0", "line-1", "line-2", "line-2"]
