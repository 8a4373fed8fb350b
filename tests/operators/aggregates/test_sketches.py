import math
import sys
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from latecomer.operators.aggregates.sketches import QuantileSketch
from tests.operators.aggregates.catalogue import within
from tests.operators.aggregates.running import VALUE, added, merged, result, table

SMALLEST, LARGEST = sys.float_info.min, sys.float_info.max


@pytest.mark.parametrize("error", [1e-6, 0.001, 0.01, 0.3, 0.9])
def test_a_single_value_comes_out_within_the_error(error: float) -> None:
    sizes = np.exp(np.linspace(math.log(SMALLEST), math.log(LARGEST) - 1e-12, 2_000))
    edges = [SMALLEST, LARGEST, 1.0, math.nextafter(1, 2), math.nextafter(1, 0)]
    values = np.concatenate([sizes, edges])
    values = np.concatenate([values, -values])
    sketch = QuantileSketch(VALUE, q=0.5, error=error)
    rows = table(values, pa.float64(), groups=np.arange(len(values)))

    _, states = added(sketch, rows)
    found = sketch.finish(states, rows.schema).to_numpy()

    assert np.all(np.abs(found / values - 1) <= error * (1 + 1e-6))


@settings(max_examples=30)
@given(
    values=st.lists(st.floats(allow_nan=False, allow_subnormal=False), min_size=1),
    q=st.floats(0, 1),
    cuts=st.lists(st.integers(0, 50), max_size=3),
)
def test_a_quantile_is_within_the_error_of_the_value_at_its_place(
    values: list[float], q: float, cuts: list[int]
) -> None:
    found = result(QuantileSketch(VALUE, q=q), values, pa.float64(), cuts)

    place = math.floor(q * (len(values) - 1))
    assert within(0.01)(found, sorted(values)[place])


def test_infinities_and_nan_come_out_as_they_are() -> None:
    values = [math.nan, math.inf, 1.0, 0.0, -0.0, -1.0, -math.inf]

    found = [result(QuantileSketch(VALUE, q=i / 6), values, pa.float64(), (3,)) for i in range(7)]

    assert found[:1] + found[2:4] + found[5:6] == [-math.inf, 0.0, 0.0, math.inf]
    assert math.isnan(found[6])


def test_numbers_next_to_zero_count_as_zero() -> None:
    assert result(QuantileSketch(VALUE, q=0), [5e-324, -5e-324], pa.float64()) == 0.0


def test_merging_is_exact_and_buckets_are_few() -> None:
    rng = np.random.default_rng(7)
    values = np.exp(rng.uniform(0, math.log(1e6), 20_000))
    rows = table(values, pa.float64())
    sketch = QuantileSketch(VALUE, q=0.5)
    _, whole = added(sketch, rows)

    parts = [added(sketch, rows.slice(a, b - a))[1] for a, b in pairwise([0, 11, 9_000, 20_000])]
    states = [pa.concat_arrays(columns) for columns in zip(*parts, strict=True)]
    _, together = merged(sketch, np.zeros(3, np.int64), states)

    assert [state.to_pylist() for state in together] == [state.to_pylist() for state in whole]
    assert len(whole[0][0]) < 700
    assert sum(whole[1][0].as_py()) == 20_000
