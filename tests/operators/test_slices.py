import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from latecomer.operators.aggregates.slices import (
    Slices,
    by_group,
    first_rows,
    group_codes,
    group_order,
    slices_of,
)

NAN = float("nan")


@given(
    rows=st.lists(
        st.tuples(
            st.integers(-3, 3) | st.integers(-(2**62), 2**62),
            st.sampled_from(["a", "b", None]),
            st.sampled_from([0.0, -0.0, NAN, 1.5, None]),
        ),
        max_size=30,
    )
)
def test_rows_are_grouped_by_all_columns_and_keep_their_order(rows: list[tuple]) -> None:
    columns = [
        pa.chunked_array([pa.array([row[i] for row in rows], kind)])
        for i, kind in enumerate((pa.int64(), pa.string(), pa.float64()))
    ]

    order, slices = by_group(columns, len(rows))

    oracle: dict[tuple, list[int]] = {}
    for i, (number, text, value) in enumerate(rows):
        same = "nan" if value is not None and np.isnan(value) else value
        oracle.setdefault((number, text, same), []).append(i)
    first = {i: same[0] for same in oracle.values() for i in same}
    assert first_rows(columns, len(rows)).tolist() == [first[i] for i in range(len(rows))]
    groups = [
        order[start:stop].tolist()
        for start, stop in zip(slices.bounds[:-1], slices.bounds[1:], strict=True)
    ]
    assert sorted(groups) == sorted(oracle.values())
    assert [rows[group[0]][0] for group in groups] == sorted(rows[group[0]][0] for group in groups)


def test_rows_of_a_group_can_be_put_in_order_of_time() -> None:
    key = pa.chunked_array([pa.array(["a", "b", "a", "a"])])

    groups, count = group_codes([key], 4)
    order = group_order(groups, count, np.array([5, 1, 4, 4]))
    slices = slices_of(groups[order])

    assert [order[: slices.bounds[1]].tolist(), order[slices.bounds[1] :].tolist()] == [
        [2, 3, 0],
        [1],
    ]


def test_many_numbers_that_lie_close_together_are_grouped_as_others_are() -> None:
    numbers = np.random.default_rng(1).integers(-60_000, 60_000, 40_000)
    column = pa.chunked_array([pa.array(numbers)])
    apart = pa.chunked_array([pa.array(numbers * 2**40)])

    order, slices = by_group([column], len(numbers))
    same, cuts = by_group([apart], len(numbers))

    assert order.tolist() == same.tolist() == np.argsort(numbers, kind="stable").tolist()
    assert slices.bounds.tolist() == cuts.bounds.tolist()
    assert first_rows([column], len(numbers)).tolist() == first_rows([apart], len(numbers)).tolist()


def test_no_rows_make_no_groups() -> None:
    order, slices = by_group([pa.chunked_array([pa.array([], pa.string())])], 0)

    assert (len(order), len(slices)) == (0, 0)


def test_more_keys_than_a_number_can_hold_are_numbered_again() -> None:
    many = [pa.chunked_array([pa.array(np.arange(5_000) * 10**6)]) for _ in range(6)]

    order, slices = by_group(many, 5_000)

    assert len(slices) == 5_000
    assert order.tolist() == list(range(5_000))


def test_a_slice_that_loses_its_rows_stays_as_an_empty_one() -> None:
    slices = Slices(np.array([0, 2, 3, 5]))
    mask = np.array([True, True, False, False, True])

    assert slices.keep(mask).lengths.tolist() == [2, 0, 1]
    assert slices.keep(mask).reduce(np.add, np.array([3, 4, 5]), -1).tolist() == [7, -1, 5]
    assert (slices.first(mask).tolist(), slices.last(mask).tolist()) == ([0, -1, 4], [1, -1, 4])
