import pyarrow as pa

from latecomer.operators.aggregates.ends import First, Last
from tests.operators.aggregates.running import FLAG, VALUE, run, table


def test_rows_count_by_time_not_by_arrival() -> None:
    rows = table(["c", "a", "b"], pa.string(), times=[3, 1, 2])

    assert run(First(VALUE), rows, cuts=[1, 2]) == {0: "a"}
    assert run(Last(VALUE), rows, cuts=[1, 2]) == {0: "c"}


def test_of_equal_times_the_first_and_the_last_to_arrive_win() -> None:
    rows = table(["a", "b", "c", "d"], pa.string(), times=[5, 5, 5, 5])

    for cuts in ([], [1], [2], [1, 2, 3]):
        assert run(First(VALUE), rows, cuts) == {0: "a"}
        assert run(Last(VALUE), rows, cuts) == {0: "d"}


def test_a_null_is_a_value_unless_it_is_filtered_out() -> None:
    rows = table([None, 1, 2, None], pa.int64(), flags=[False, True, True, False])

    assert run(First(VALUE), rows, cuts=[2]) == run(Last(VALUE), rows, cuts=[2]) == {0: None}
    assert run(First(VALUE, FLAG), rows, cuts=[2]) == {0: 1}
    assert run(Last(VALUE, FLAG), rows, cuts=[2]) == {0: 2}


def test_times_may_be_as_far_apart_as_they_can() -> None:
    rows = table([1, 2], pa.int64(), times=[2**63 - 2, 1 - 2**63])

    assert run(First(VALUE), rows, cuts=[1]) == {0: 2}
    assert run(Last(VALUE), rows, cuts=[1]) == {0: 1}
