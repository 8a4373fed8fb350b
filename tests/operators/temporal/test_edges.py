from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from latecomer.operators.temporal.edges import (
    AT,
    FINAL,
    ID,
    OTHER,
    Edges,
    edge_schema,
    ends_of,
    later,
    payload_schema,
    settled,
    taken,
    told,
)
from latecomer.time import FOREVER

Row = tuple[int, int, int, str]


def edges(*rows: Row) -> Edges:
    """Return edges, given `at`, `other`, the id and the name of each."""
    at, other, ids, names = zip(*rows, strict=True) if rows else ((), (), (), ())
    numbers = [np.array(each, np.int64) for each in (at, other, ids)]
    return Edges(*numbers, pa.table({"name": pa.array(names, pa.string())}))


def rows_of(found: Edges) -> list[Row]:
    columns = (found.at, found.other, found.id, found.payload.column("name").to_pylist())
    return [(int(a), int(o), int(i), n) for a, o, i, n in zip(*columns, strict=True)]


SENT = edges(
    (3, 9, FINAL, "whole"), (4, FOREVER, 5, "begin"), (8, 4, 5, "end"), (9, FOREVER, FINAL, "never")
)


def test_begins_and_ends_are_told_apart() -> None:
    assert SENT.is_open.tolist() == [False, True, False, False]
    assert SENT.is_end.tolist() == [False, False, True, False]


def test_edges_are_written_as_rows_and_read_again() -> None:
    written = SENT.batch()

    assert written.column_names == ["name", AT, OTHER, ID]
    assert rows_of(Edges.of(written)) == rows_of(SENT)


def test_lifetimes_add_three_columns_to_a_schema() -> None:
    schema = pa.schema({"name": pa.string()})

    assert edge_schema(schema).names == ["name", AT, OTHER, ID]
    assert payload_schema(edge_schema(schema)) == schema


def test_rows_without_other_columns_keep_their_number() -> None:
    bare = Edges(np.array([1, 2]), np.array([3, 4]), np.array([FINAL, FINAL]), pa.table({}))

    assert bare.batch().to_pydict() == {AT: [1, 2], OTHER: [3, 4], ID: [FINAL, FINAL]}
    assert bare.take(np.array([1])).at.tolist() == [2]
    assert taken(bare.payload, np.array([1])) is bare.payload


def test_parts_are_put_one_after_the_other() -> None:
    nothing = Edges.none(pa.schema({"name": pa.string()}))

    assert rows_of(Edges.joined([SENT, nothing, edges((1, 2, FINAL, "x"))])) == [
        *rows_of(SENT),
        (1, 2, FINAL, "x"),
    ]
    assert Edges.joined([nothing, SENT]) is SENT
    assert len(Edges.joined([nothing, nothing])) == 0


def test_edges_are_put_in_order_and_equal_times_keep_theirs() -> None:
    found = edges((5, 9, FINAL, "a"), (1, 9, FINAL, "b"), (5, 9, FINAL, "c")).in_order()

    assert [name for *_, name in rows_of(found)] == ["b", "a", "c"]
    assert found.in_order() is found


def test_held_rows_get_their_ends() -> None:
    held = edges((1, FOREVER, 0, "a"), (2, FOREVER, 1, "b"))
    due = edges((6, 2, 1, "b"), (7, FOREVER, 2, "c"))

    assert rows_of(settled(held, due)) == [
        (1, FOREVER, 0, "a"),
        (2, 6, 1, "b"),
        (7, FOREVER, 2, "c"),
    ]


def test_an_end_that_was_brought_forward_stays() -> None:
    held = edges((2, 4, 1, "cut off at 4"))

    assert rows_of(settled(held, edges((6, 2, 1, "b")))) == [(2, 4, 1, "cut off at 4")]


def test_an_end_without_a_begin_is_dropped() -> None:
    assert rows_of(settled(edges((1, 3, FINAL, "a")), edges((6, 2, 9, "b")))) == [
        (1, 3, FINAL, "a")
    ]


def test_ends_are_looked_up_by_id_and_a_final_row_has_none_to_come() -> None:
    due = edges((6, 2, 7, "b"), (9, 1, 3, "a"), (8, FOREVER, 4, "begins"))

    assert ends_of(np.array([3, 7, 4, 99, FINAL]), due).tolist() == [9, 6, *[FOREVER] * 3]
    assert ends_of(np.array([3]), edges()).tolist() == [FOREVER]


@pytest.mark.parametrize(
    ("known", "before", "expected"),
    [
        (True, False, [(3, 9, FINAL, "a")]),
        (False, False, [(3, FOREVER, 5, "a")]),
        (True, True, [(9, 3, 5, "a")]),
        (False, True, []),
    ],
)
def test_edges_to_emit_depend_on_what_is_known_and_what_was_emitted(
    known: bool,  # noqa: FBT001
    before: bool,  # noqa: FBT001
    expected: list[Row],
) -> None:
    found = told(edges((3, 9, 5, "a")), np.array([known]), np.array([before]))

    assert rows_of(found) == expected


def test_a_row_that_never_ends_gets_no_end() -> None:
    found = told(edges((3, FOREVER, 5, "a")), np.array([True]), np.array([True]))

    assert rows_of(found) == []


def test_emitted_edges_are_in_order() -> None:
    rows = edges((1, 4, 0, "ends"), (2, 9, 1, "whole"), (7, 8, 2, "begins"))

    found = told(rows, np.array([True, True, False]), np.array([True, False, False]))

    assert rows_of(found) == [(2, 9, FINAL, "whole"), (4, 1, 0, "ends"), (7, FOREVER, 2, "begins")]


def test_moving_times_keeps_forever_and_never_reaches_it() -> None:
    times = np.array([5, FOREVER - 3, FOREVER])

    assert later(times, 10).tolist() == [15, FOREVER - 1, FOREVER]
    assert later(times, -10).tolist() == [-5, FOREVER - 13, FOREVER]


def test_ends_are_put_in_place_among_begins_that_are_in_no_order() -> None:
    rows = edges((5, 9, 1, "b"), (2, 7, 2, "c"), (8, 20, 4, "a"), (3, 7, 3, "d"), (7, 9, 5, "e"))
    before = np.array([True, True, False, False, False])
    known = np.array([True, True, True, False, True])

    found = told(rows, known, before)

    assert rows_of(found) == [
        (3, FOREVER, 3, "d"),
        (7, 9, FINAL, "e"),
        (7, 2, 2, "c"),
        (8, 20, FINAL, "a"),
        (9, 5, 1, "b"),
    ]
