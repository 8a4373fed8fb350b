import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from latecomer.kernels.nearly import insert


@given(times=st.lists(st.integers(-5, 5), max_size=40))
def test_rows_of_equal_time_stay_in_order_of_arrival(times: list[int]) -> None:
    out = (np.empty(len(times), np.int64), np.empty(len(times), np.int64))

    assert insert(np.array(times, np.int64), 100, out)

    order = sorted(range(len(times)), key=times.__getitem__)
    assert out[0].tolist() == [times[i] for i in order]
    assert out[1].tolist() == [100 + i for i in order]


def test_it_gives_up_on_rows_far_from_their_places() -> None:
    backwards = np.arange(500)[::-1].copy()
    out = (np.empty(500, np.int64), np.empty(500, np.int64))

    assert not insert(backwards, 0, out)
