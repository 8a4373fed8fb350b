import math

import numpy as np
import pyarrow as pa
import pytest

from latecomer.operators.aggregates.distinct import ApproxCountDistinct, CountDistinct
from tests.operators.aggregates.catalogue import NEGATIVE_NAN
from tests.operators.aggregates.running import VALUE, added, merged, result, run, table

BOTH = pytest.mark.parametrize("aggregate", [CountDistinct(VALUE), ApproxCountDistinct(VALUE)])


@BOTH
@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
def test_nans_are_equal_and_so_are_zeros(aggregate: CountDistinct, kind: pa.DataType) -> None:
    values = [0.0, math.nan, -0.0, NEGATIVE_NAN, None]

    assert result(aggregate, values, kind) == 2
    assert result(aggregate, values, kind, cuts=(1, 2, 3)) == 2


@BOTH
def test_neighbours_in_another_group_are_counted_there(aggregate: CountDistinct) -> None:
    rows = table([1, 1, 1, 2], pa.int64(), groups=[0, 1, 2, 2])

    assert run(aggregate, rows, cuts=[2]) == {0: 1, 1: 1, 2: 2}


def test_counts_are_exact_as_long_as_all_hashes_are_kept() -> None:
    aggregate = ApproxCountDistinct(VALUE, error=0.1)
    assert aggregate.size == 102

    assert result(aggregate, range(101), pa.int64(), cuts=(50,)) == 101
    assert result(aggregate, range(10_000), pa.int64()) == pytest.approx(10_000, rel=0.3)


@pytest.mark.parametrize(
    ("error", "many", "groups"), [(0.5, 500, 400), (0.05, 5_000, 80), (0.01, 40_000, 10)]
)
def test_the_error_is_as_large_as_documented_and_unbiased(
    error: float, many: int, groups: int
) -> None:
    rows = table(range(many * groups), pa.int64(), groups=np.arange(many * groups) % groups)

    found = run(ApproxCountDistinct(VALUE, error=error), rows)
    errors = np.array(list(found.values())) / many - 1

    assert np.sqrt(np.mean(errors**2)) < 1.5 * error
    assert abs(errors.mean()) < 3 * error / np.sqrt(groups)


def test_the_state_is_bounded_and_does_not_depend_on_batches() -> None:
    aggregate = ApproxCountDistinct(VALUE, error=0.2)
    rows = table([i * i for i in range(5_000)], pa.int64())
    _, (whole,) = added(aggregate, rows)

    parts = [
        added(aggregate, rows.slice(start, 1_000)) for start in (4_000, 0, 2_000, 1_000, 3_000)
    ]
    states = pa.concat_arrays([state for _, (state,) in parts])
    _, (together,) = merged(aggregate, np.zeros(5, np.int64), [states])

    assert together.equals(whole)
    assert len(whole[0]) == aggregate.size == 27
