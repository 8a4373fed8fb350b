import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from latecomer.kernels.productivity import add_results, relative_selectivity

results = st.tuples(st.integers(0, 70), st.booleans(), st.integers(0, 9), st.integers(0, 9))


@given(gave=st.lists(results, max_size=12), fade=st.sampled_from([0.0, 0.5]))
def test_results_are_counted_by_the_steps_of_delays(
    gave: list[tuple[int, bool, int, int]], fade: float
) -> None:
    before = np.array([4.0, 2.0]), np.array([2.0, 0.0])
    delays, in_order, cross, joined = np.array(gave, np.int64).reshape(-1, 4).T
    arrays = delays, in_order.astype(np.bool_), cross.astype(float), joined.astype(float)

    *found, total = add_results(arrays, (10, 5), fade, *before)

    for side, counts in enumerate(found):
        expected = dict(enumerate(fade * before[side]))
        most = max((row[2 + side] for row in gave), default=0)
        for row in gave:
            # Rounded up, and 5 steps at most.
            step = min(-(-row[0] // 10), 5)
            expected[step] = expected.get(step, 0) + (row[2 + side] if row[1] else most)
        assert {at: count for at, count in enumerate(counts.tolist()) if count} == {
            at: count for at, count in expected.items() if count
        }
    most = max((row[3] for row in gave), default=0)
    assert total == sum(row[3] if row[1] else most for row in gave)


counts = st.lists(st.sampled_from([0.0, 1.0, 2.5, 7.0]), min_size=5, max_size=5).map(np.array)


@given(cross=counts, joined=counts, waits=st.integers(1, 8))
def test_the_selectivity_of_a_wait_is_that_of_the_results_up_to_it(
    cross: np.ndarray, joined: np.ndarray, waits: int
) -> None:
    joined = np.minimum(joined, cross)
    found = relative_selectivity(cross, joined, waits)

    for wait in range(waits):
        upto_wait = slice(wait + 1)
        some = cross[upto_wait].sum()
        # Nothing is known of waits without results, nor if there are no results at all.
        is_known = some and joined.sum() and wait < len(cross)
        own = joined[upto_wait].sum() / some if is_known else 1.0
        assert np.isclose(found[wait], own / (joined.sum() / cross.sum()) if is_known else 1.0)
