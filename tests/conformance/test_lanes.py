"""Vectors are laid out in micro-batches so that the output of each step is known."""

from tests.conformance.lanes import CLOCK_ID, Lane, Steps, led
from tests.conformance.temporal.arrival import Step
from tests.conformance.temporal.streamed import laid_out


def test_a_watermark_shares_a_micro_batch_with_the_rows_before_it() -> None:
    steps = Steps([{"rows": [[0, 4]]}, {"watermark": 4}, {"rows": [[1, 4], [2, 3]]}], wait=10)

    assert steps.lane.batches == [[[0, 4], [CLOCK_ID, 14]], [[1, 4], [2, 3]]]
    steps.lane.ready = [[], [{"id": 0}, {"id": 1}]]
    steps.lane.late = [[], [{"id": 2}]]
    assert steps.told() == ([[], [{"id": 0}], [{"id": 1}]], [[], [], [{"id": 2}]])


def test_watermarks_that_follow_each_other_have_a_micro_batch_each() -> None:
    steps = Steps([{"watermark": 1}, {"watermark": "inf"}], wait=10)

    assert steps.lane.batches == [[[CLOCK_ID, 11]], [[CLOCK_ID, 12]], []]


def test_steps_that_are_apart_have_no_rows_beside_a_watermark() -> None:
    steps = Steps([{"rows": [[0, 4]]}, {"watermark": 5}, {"rows": [[1, 9]]}], wait=10, apart=True)

    assert steps.lane.batches == [[[0, 4], [CLOCK_ID, 15]], [], [[1, 9]]]


def test_the_clock_of_a_row_is_moved_one_micro_batch_before_it() -> None:
    lane = Lane(led([[[0, 5, "k"]], [[1, 7, "k"]]]))

    assert lane.batches == [[[CLOCK_ID, 5]], [[0, 5, "k"], [CLOCK_ID, 7]], [[1, 7, "k"]]]


def test_only_a_late_row_begins_a_micro_batch_of_a_stream() -> None:
    rows = [{"time": time, "end": None} for time in (5, 8, 6, 9)]
    steps = [Step(0, row, max(5, row["time"]) if n != 2 else 8) for n, row in enumerate(rows)]
    batches, ends = laid_out(iter([*steps, Step(0, None, 1 << 62)]))

    assert [batch.rows for batch in batches] == [{0: rows[:2]}, {0: rows[2:]}]
    assert (batches[0].clock, ends) == (8, False)
