import pyarrow as pa

from latecomer.operators.sort import Sort
from latecomer.testing import TIME, late, play, ready, replay, rows, watermark
from latecomer.testing.notation import as_batch, as_marks


def test_a_replay_shows_late_rows() -> None:
    seen = replay(Sort(TIME), [[10, 14], [12, 19], [13, 20]], wait=5)

    assert (seen.ready, seen.late) == ([10, 12, 14, 19, 20], [13])


def test_the_output_is_recorded_step_by_step() -> None:
    seen = play(Sort(TIME), rows(5, 3, 4), watermark(5), rows(2), watermark(9))

    assert seen == [ready(3, 4, 5), late(2)]


def test_ready_and_late_rows_differ() -> None:
    assert ready(1) != late(1)
    assert ready(1, 2) != ready(2, 1)


def test_rows_of_equal_time_differ_by_their_names() -> None:
    seen = play(Sort(TIME), rows((5, "a"), (5, "b"), 4), watermark(5))

    assert seen == [ready(4, (5, "a"), (5, "b"))]


def test_a_replay_may_treat_late_rows_otherwise() -> None:
    batches = [[10], [20], [1]]

    assert replay(Sort(TIME), batches, wait=5, late="drop").late == []
    # An adjusted row comes out at the watermark.
    assert replay(Sort(TIME), batches, wait=5, late="adjust").ready == [10, 15, 20]


def test_rows_are_written_as_a_batch_and_read_again() -> None:
    marks = (3, (4, "a"))

    assert as_batch(marks, 10)["time"].to_pylist() == [30, 40]
    assert as_marks(as_batch(marks, 10), 10) == marks
    assert as_marks(as_batch([])) == ()
    assert as_batch([]).schema.types == [pa.int64(), pa.string()]
