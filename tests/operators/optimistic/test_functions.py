from __future__ import annotations

from collections import namedtuple
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from latecomer.errors import UpdateError
from latecomer.operators.optimistic.functions import Made, as_text, content, failed, rows_of

ROW = namedtuple("Row", ["time", "value"])(5, 7)  # noqa: PYI024
ONE = pa.schema([("total", pa.int64())])
TWO = pa.schema([("total", pa.int64()), ("name", pa.string())])


def noted(row: object) -> None:
    """A user's function, whose name errors must show."""


def made(schema: pa.Schema, *returned: object) -> Made:
    found = Made(noted, schema)
    for each in returned:
        found.add(ROW, each)
    return found


def test_a_row_is_a_named_tuple_and_times_are_integers() -> None:
    epoch = datetime(1970, 1, 1)  # noqa: DTZ001
    table = pa.table(
        {
            "at": pa.array([epoch + timedelta(milliseconds=2)], pa.timestamp("us")),
            "day": pa.array([date(1970, 1, 4)], pa.date32()),
            "name": ["a"],
            "class": [None],
        }
    )

    (row,) = rows_of(table)

    assert (row.at, row.day, row.name) == (2_000, 3, "a")
    # A name that is no Python identifier is replaced by its position.
    assert row._3 is None


def test_times_inside_of_lists_and_structs_are_integers_too() -> None:
    kind = pa.list_(pa.struct([("day", pa.date32()), ("name", pa.string())]))
    table = pa.table({"parts": pa.array([[{"day": date(1970, 1, 4), "name": "a"}]], kind)})

    assert rows_of(table)[0].parts == [{"day": 3, "name": "a"}]


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        (None, []),
        ([], []),
        ((1, "a"), [(1, "a")]),
        ({"name": "a", "total": 1}, [(1, "a")]),
        ([(1, "a"), {"total": 2, "name": None}], [(1, "a"), (2, None)]),
        (((n, "a") for n in (1, 2)), [(1, "a"), (2, "a")]),
    ],
    ids=["none", "empty", "tuple", "dict", "list", "generator"],
)
def test_what_a_function_may_return(returned: object, expected: list[tuple[Any, ...]]) -> None:
    found = made(TWO, returned)

    assert [tuple(row.values()) for row in found.table().to_pylist()] == expected
    assert found.counts == [len(expected)]


def test_a_row_of_one_column_may_be_its_bare_value() -> None:
    words = pa.schema([("word", pa.string())])

    assert made(ONE, 5, [6, 7], None).table()["total"].to_pylist() == [5, 6, 7]
    assert made(ONE, 5, [6, 7], None).counts == [1, 2, 0]
    assert made(words, "text").table()["word"].to_pylist() == ["text"]


@pytest.mark.parametrize("returned", [(1,), (1, "a", 2), {"total": 1}, {"total": 1, "nam": 2}, 5])
def test_a_return_value_that_is_no_row_is_refused_and_shown(returned: object) -> None:
    with pytest.raises(UpdateError) as caught:
        made(TWO, returned)

    assert str(caught.value).startswith(
        f'noted returned {returned!r}, which is not a row of "total", "name"; '
        "it was called with the row time=5, value=7.\nHint: "
    )


@pytest.mark.parametrize("value", ["much", 2.5, np.float32(1), Decimal(2), 2**63])
def test_a_value_that_does_not_fit_its_column_is_refused_by_name(value: object) -> None:
    found = made(ONE, 1, value)

    with pytest.raises(UpdateError) as caught:
        found.table()

    assert str(caught.value).startswith(
        f'noted returned {value!r} for column "total", which is of type int64; '
        "it was called with the row time=5, value=7.\nHint: "
    )


def test_a_fraction_inside_a_list_or_a_struct_is_not_cut_off() -> None:
    kind = pa.list_(pa.struct([("cents", pa.int64())]))

    with pytest.raises(UpdateError, match=r"returned \[\{'cents': 2\.5\}\] for column"):
        made(pa.schema([("x", kind)]), ([{"cents": 2.5}],)).table()


def test_a_list_that_is_changed_later_keeps_its_returned_value() -> None:
    found, state = Made(noted, pa.schema([("all", pa.list_(pa.int64()))])), [1]
    found.add(ROW, (state,))
    state.append(2)
    found.add(ROW, (state,))

    assert found.table()["all"].to_pylist() == [[1], [1, 2]]


def test_rows_that_come_one_by_one_may_fail_on_their_way() -> None:
    with pytest.raises(UpdateError, match=r"noted failed with ZeroDivisionError: .* the row"):
        made(ONE, (1 // each for each in [1, 0]))


def test_without_outputs_the_table_has_no_rows() -> None:
    assert made(TWO).table().schema == TWO
    assert made(TWO, None).table().num_rows == 0


def test_a_failure_names_the_function_the_row_and_the_state() -> None:
    error = failed(noted, ValueError("no"), ROW, " and the state 3")

    assert str(error).split("\n")[0] == (
        "noted failed with ValueError: no; it was called with the row time=5, value=7 "
        "and the state 3."
    )
    assert as_text(ROW) == "the row time=5, value=7"


def test_rows_with_the_same_content_have_the_same_hash_whatever_their_types() -> None:
    kind = pa.list_(pa.int64())
    table = pa.table({"x": [1, 1, 2, 1], "l": pa.array([[1], [1], [1], [2]], kind)})

    hashes = content(table).tolist()

    assert hashes[0] == hashes[1]
    assert len(set(hashes)) == 3
