"""Laws of every aggregate, on every type that it takes."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from latecomer.operators.aggregates.custom import Custom
from tests.operators.aggregates.catalogue import ALL, ANY, ORDERED, Case
from tests.operators.aggregates.running import BY, FLAG, GROUP, TIME, VALUE, run, table, zero
from tests.support.all_aggregates import concrete

EVERY = pytest.mark.parametrize("case", ALL, ids=lambda case: repr(case.aggregate))


@st.composite
def some_rows(draw: st.DrawFn, case: Case) -> pa.Table:
    """Draw a few rows of some type, many of them alike."""
    kind = draw(st.sampled_from(list(case.kinds)))
    by = draw(st.sampled_from(list(ORDERED)))
    rows = draw(
        st.lists(
            st.tuples(
                st.integers(0, 3),
                st.integers(-2, 2) | st.sampled_from([-(2**62), 2**62]),
                st.sampled_from([*case.kinds[kind], None]),
                st.sampled_from([*ORDERED[by], None]),
                st.sampled_from([True, True, False, None]),
            ),
            max_size=14,
        )
    )
    groups, times, values, bys, flags = zip(*rows, strict=True) if rows else ([], [], [], [], [])
    return table(values, kind, groups=groups, times=times, flags=flags, by=pa.array(bys, by))


def oracle(case: Case, rows: pa.Table, *, only: bool) -> dict[int, Any]:
    expected: dict[int, Any] = {}
    found = rows.select([GROUP, TIME, VALUE, BY, FLAG]).to_pylist()
    for group in {row[GROUP] for row in found}:
        kept = [row for row in found if row[GROUP] == group and (row[FLAG] or not only)]
        expected[group] = case.expected([(row[TIME], row[VALUE], row[BY]) for row in kept])
    return expected


def assert_agrees(case: Case, found: dict[int, Any], expected: dict[int, Any]) -> None:
    assert found.keys() == expected.keys()
    for group, one in found.items():
        assert case.agrees(one, expected[group]), (group, one, expected[group])


def test_the_catalogue_has_every_aggregate() -> None:
    assert {type(case.aggregate) for case in ALL} == concrete()


@EVERY
@settings(max_examples=40)
@given(data=st.data())
def test_an_aggregate_equals_its_slow_twin_however_rows_are_cut(
    case: Case, data: st.DataObject
) -> None:
    rows = data.draw(some_rows(case))
    only = data.draw(st.booleans())
    cuts = data.draw(st.lists(st.integers(0, 14), max_size=4))
    aggregate = replace(case.aggregate, where=FLAG if only else None)

    expected = oracle(case, rows, only=only)
    assert_agrees(case, run(aggregate, rows), expected)
    assert_agrees(case, run(aggregate, rows, cuts), expected)


@EVERY
def test_an_aggregate_equals_its_slow_twin_on_every_type(case: Case) -> None:
    draw = Random(7)
    for kind, pool in case.kinds.items():
        by = draw.choice(list(ORDERED))
        many = 60
        rows = table(
            draw.choices([*pool, None], k=many),
            kind,
            groups=draw.choices(range(5), k=many),
            times=draw.choices(range(9), k=many),
            by=pa.array(draw.choices([*ORDERED[by], None], k=many), by),
        )
        found = run(case.aggregate, rows, cuts=draw.choices(range(many), k=3))
        assert_agrees(case, found, oracle(case, rows, only=False))


@EVERY
def test_rows_that_all_fail_the_filter_give_what_no_rows_give(case: Case) -> None:
    nothing = case.expected([])
    for kind, pool in case.kinds.items():
        rows = table(pool, kind, flags=[False] * len(pool))
        assert run(replace(case.aggregate, where=FLAG), rows, cuts=[1]) == {0: nothing}

        states = zero(case.aggregate, rows.schema)
        assert case.aggregate.finish(states, rows.schema).to_pylist() == [nothing]


@EVERY
def test_no_rows_make_no_groups(case: Case) -> None:
    for kind in case.kinds:
        assert run(case.aggregate, table([], kind), cuts=[0, 0]) == {}


@EVERY
def test_one_row_is_enough(case: Case) -> None:
    for kind, pool in case.kinds.items():
        for value in [*pool, None]:
            rows = table([value], kind)
            assert_agrees(case, run(case.aggregate, rows), oracle(case, rows, only=False))


@EVERY
def test_the_columns_that_are_read_are_known_beforehand(case: Case) -> None:
    kind, pool = next(iter(case.kinds.items()))
    aggregate = replace(case.aggregate, where=FLAG)
    rows = table(pool, kind)

    run(aggregate, rows.select([GROUP, TIME, *aggregate.columns]))


@EVERY
def test_a_type_that_cannot_be_aggregated_is_refused_by_name(case: Case) -> None:
    if isinstance(case.aggregate, Custom):
        return  # The user's methods decide which types they accept.
    for kind in ANY.keys() - case.kinds.keys() - {pa.decimal128(38, 0), pa.uint8()}:
        # An expression is shown as the user wrote it.
        with pytest.raises(TypeError, match=r'(column "value"|; v) is of type'):
            case.aggregate.result_type(table([], kind).schema)


@EVERY
def test_a_column_that_is_missing_is_named(case: Case) -> None:
    aggregate = replace(case.aggregate, column="price")

    with pytest.raises(LookupError, match='no column "price"; the stream has "x"'):
        aggregate.result_type(pa.schema([("x", pa.int64())]))
