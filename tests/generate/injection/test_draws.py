import numpy as np
import pyarrow as pa
import pytest

from latecomer.generate.injection.draws import identify, numbered, uniform

ROWS = pa.table({"time": range(20_000), "name": [f"n{i % 7}" for i in range(20_000)]})


def test_a_draw_never_changes() -> None:
    ids = identify(pa.table({"time": [1, 2], "name": ["a", None]}))

    assert ids.tolist() == [5059007729692566401, 13637305875688994254]
    assert uniform(ids, 7, 0).round(6).tolist() == [0.545073, 0.915027]


def test_a_row_draws_the_same_wherever_it_stands() -> None:
    order = np.random.default_rng(1).permutation(ROWS.num_rows)

    assert (identify(ROWS.take(order)) == identify(ROWS)[order]).all()


def test_types_of_another_width_are_the_same_row() -> None:
    wide = pa.table({"a": pa.array([1, 2]), "t": pa.array([5, 6], pa.timestamp("us", "UTC"))})
    narrow = pa.table(
        {"a": pa.array([1, 2], pa.int16()), "t": pa.array([5000, 6000], pa.timestamp("ns"))}
    )

    assert (identify(wide) == identify(narrow)).all()


def test_nested_values_count() -> None:
    rows = pa.table({"pair": [{"x": 1, "y": [1]}, {"x": 1, "y": [2]}, {"x": 1, "y": [1]}]})

    first, second, third = identify(rows)

    assert first == third != second


def test_zones_do_not_count_even_inside_other_values() -> None:
    pair = pa.struct({"at": pa.timestamp("us", "UTC")})
    moved = pa.struct({"at": pa.timestamp("us", "Asia/Tokyo")})
    rows = pa.table({"pair": pa.array([{"at": 5}, None], pair)})

    assert (identify(rows) == identify(rows.cast(pa.schema({"pair": moved})))).all()


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1, 2, None], pa.time32("s")),
        pa.array([b"ab", b"cd", None], pa.binary(2)),
        pa.array(["a", "b", None], pa.string_view()),
        pa.array(["a", "b", None]).dictionary_encode(),
        pa.array([[1], [2], None]),
        pa.array([1, 2, None], pa.duration("s")),
        pa.nulls(3),
    ],
    ids=lambda values: str(values.type),
)
def test_rows_of_any_type_have_an_identity(values: pa.Array) -> None:
    ids = identify(pa.table({"value": values}))

    assert len(set(ids.tolist())) == (1 if pa.types.is_null(values.type) else 3)


def test_rows_that_are_alike_draw_differently() -> None:
    ids = np.array([5, 9, 5, 5, 9], np.uint64)

    told_apart = numbered(ids)

    assert len(set(told_apart.tolist())) == 5
    assert sorted(told_apart) == sorted(numbered(ids[::-1]))


def test_no_rows_have_no_numbers() -> None:
    assert len(numbered(np.array([], np.uint64))) == 0


def test_draws_are_uniform_and_independent() -> None:
    ids = identify(ROWS)
    whether, how_long, other_seed = uniform(ids, 1, 0), uniform(ids, 1, 1), uniform(ids, 2, 0)

    for draws in (whether, how_long, other_seed):
        counts = np.histogram(draws, bins=20, range=(0, 1))[0]
        assert abs(counts - 1_000).max() < 150
    assert abs(np.corrcoef([whether, how_long, other_seed]) - np.eye(3)).max() < 0.03


def test_any_whole_number_is_a_seed() -> None:
    ids = identify(ROWS)[:10]

    draws = [tuple(uniform(ids, seed, 0)) for seed in (0, -1, 1, 2**63, 2**64 + 2)]

    assert len(set(draws)) == len(draws)
