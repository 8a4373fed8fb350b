from __future__ import annotations

import itertools

import numpy as np
import pytest

from latecomer.operators.window_join.equalities import Equalities, Pair


def chain(*columns: str) -> list[Pair]:
    """Return equalities between the columns of neighbouring streams."""
    ends = enumerate(itertools.pairwise(columns))
    return [Pair(i, left, i + 1, right) for i, (left, right) in ends]


def test_a_key_is_common_to_all_streams_also_by_way_of_others() -> None:
    found = Equalities.of(3, chain("a", "b", "c"))

    assert found.key == ("a", "b", "c")
    assert found == Equalities.common("a", "b", "c")


def test_a_key_that_one_stream_lacks_is_not_common() -> None:
    found = Equalities.of(3, [Pair(0, "a", 1, "a")])

    assert found.key == ()
    assert found.common_keys() == []


def test_pairs_of_different_columns_are_no_common_key() -> None:
    found = Equalities.of(3, [Pair(0, "a", 1, "a"), Pair(1, "b", 2, "b")])

    assert found.key == ()
    assert found.common_keys() == []


def test_rows_can_be_brought_together_by_one_of_several_keys() -> None:
    found = Equalities.of(2, [Pair(0, "a", 1, "x"), Pair(0, "b", 1, "y")])

    assert found.key == ()
    assert sorted(found.common_keys()) == [("a", "x"), ("b", "y")]


def test_classes_of_equal_columns_that_meet_are_one() -> None:
    pairs = [Pair(0, "a", 1, "b"), Pair(2, "c", 3, "d"), Pair(1, "b", 2, "c")]

    assert Equalities.of(4, pairs).key == ("a", "b", "c", "d")


def test_a_stream_names_each_of_its_columns_once() -> None:
    star = Equalities(3, (Pair(0, "a", 1, "x"), Pair(0, "a", 2, "y"), Pair(2, "z", 0, "b")))

    assert [star.columns(stream) for stream in range(3)] == [("a", "b"), ("x",), ("y", "z")]


@pytest.mark.parametrize(
    ("pairs", "centre"),
    [
        ([Pair(1, "a", 0, "a"), Pair(1, "b", 2, "b")], 1),
        ([Pair(0, "a", 1, "a"), Pair(0, "b", 2, "b")], 0),
        ([Pair(0, "a", 1, "a"), Pair(1, "b", 2, "b"), Pair(0, "b", 2, "a")], None),
        ([Pair(0, "a", 1, "a"), Pair(0, "b", 1, "b")], None),
        ([Pair(0, "a", 1, "a")], None),
    ],
    ids=["star around 1", "star around 0", "circle", "one stream twice", "too few"],
)
def test_the_centre_of_a_star_shares_a_column_with_each_other_stream(
    pairs: list[Pair], centre: int | None
) -> None:
    assert Equalities(3, tuple(pairs)).centre == centre


def test_a_path_of_four_has_no_centre() -> None:
    assert Equalities(4, tuple(chain("a", "b", "c", "d"))).centre is None


def test_streams_are_probed_along_the_pairs() -> None:
    path = Equalities(4, (Pair(0, "a", 1, "a"), Pair(1, "b", 2, "b"), Pair(2, "c", 3, "c")))

    streams, by_pair, partners = np.moveaxis(path.walks(), -1, 0)

    assert streams.tolist() == [[1, 2, 3], [0, 2, 3], [1, 0, 3], [2, 1, 0]]
    assert by_pair.tolist() == [[0, 1, 2], [0, 1, 2], [1, 0, 2], [2, 1, 0]]
    assert partners.tolist() == [[0, 1, 2], [1, 1, 2], [2, 1, 2], [3, 2, 1]]


def test_a_stream_without_a_pair_is_probed_last_and_as_a_whole() -> None:
    streams, by_pair, _ = np.moveaxis(Equalities(3, (Pair(0, "a", 2, "a"),)).walks(), -1, 0)

    assert streams.tolist() == [[2, 1], [0, 2], [0, 1]]
    assert by_pair.tolist() == [[0, 1], [1, 0], [0, 1]]


def test_a_key_of_all_streams_leads_from_any_to_all_others() -> None:
    walks = Equalities.common("a", "b", "c").walks()

    assert walks[1].tolist() == [[0, 0, 1], [2, 0, 1]]
