from __future__ import annotations

from collections import Counter

from latecomer.operators.temporal.edges import AT, ID, OTHER
from latecomer.operators.temporal.point_at_end import PointAtEnd
from latecomer.time import FOREVER
from tests.operators.temporal.driving import LEFT, edges_of, parted, result, table, unary, whole

A, B = ("a", 1), ("b", 2)


def test_a_row_counts_for_one_microsecond_from_its_end_on() -> None:
    expected = Counter([(9, 10, A), (4, 5, B)])

    assert result(unary(PointAtEnd()), whole((3, 9, A), (1, 4, B))) == expected
    assert result(unary(PointAtEnd()), parted((3, 9, A), (1, 4, B))) == expected


def test_what_never_ends_is_left_out() -> None:
    assert result(unary(PointAtEnd()), whole((3, None, A)) + parted((3, None, B))) == Counter()


def test_an_end_that_is_known_comes_out_at_once_and_an_unknown_one_when_it_comes() -> None:
    known = table(edges_of(whole((3, 9, A))), LEFT)
    begin, end = (table([edge], LEFT) for edge in edges_of(parted((3, 9, A))))

    for rows, expected in ((known, [(9, 10, -1)]), (begin, []), (end, [(9, 10, -1)])):
        found = PointAtEnd().of_rows(rows).to_pylist()
        assert [(row[AT], row[OTHER], row[ID]) for row in found] == expected


def test_the_last_instant_has_no_point_after_it() -> None:
    last = table(edges_of(whole((3, FOREVER - 1, A))), LEFT)

    assert PointAtEnd().of_rows(last).column(OTHER).to_pylist() == [FOREVER]
