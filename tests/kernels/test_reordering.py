import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from latecomer.operators.window_join.reordering import Arrivals, Reordering
from latecomer.operators.window_join.tuples import Tuples
from tests.support.cuts import cuts, parts
from tests.support.join_twin import TwinReordering

rows = st.tuples(st.integers(0, 2), st.integers(-6, 12))


@given(rows=st.lists(rows, max_size=25), at=cuts, data=st.data())
def test_buffers_do_what_their_twins_do_arrival_by_arrival(
    rows: list[tuple[int, int]], at: list[int], data: st.DataObject
) -> None:
    one, other = Reordering(3), TwinReordering(3)
    streams, times = np.array(rows, np.int64).reshape(-1, 2).T.copy()
    for start, stop in parts(len(rows), at):
        some = Arrivals(streams[start:stop], times[start:stop], np.arange(start, stop))
        wait = data.draw(st.integers(0, 8))
        assert told(one.push(some, wait)) == told(other.push(some, wait))
        newest = data.draw(st.integers(-6, 14))
        assert told(one.reach(newest, wait)) == told(other.reach(newest, wait))
        assert told(one.held) == told(other.held)
        assert (len(one), one.oldest) == (len(other), other.oldest)

    assert told(one.finish()) == told(other.finish())


def told(tuples: Tuples) -> list[list[int]]:
    return [each.tolist() for each in tuples.save().values()]
