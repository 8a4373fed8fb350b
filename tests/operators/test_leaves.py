from itertools import pairwise

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from latecomer.batch import Batch
from latecomer.hosts.local import MemoryChunks
from latecomer.operators import leaves
from latecomer.operators.aggregates.summary import PANE
from latecomer.operators.leaves import Leaves


def states(panes: list[int]) -> Batch:
    return pa.table({PANE: pa.array(sorted(panes), pa.int64())})


def kept(rows: Batch) -> Batch:
    return rows.take(pa.array(np.argsort(rows.column(PANE).to_numpy(), kind="stable")))


@given(parts=st.lists(st.lists(st.integers(-20, 20), min_size=1, max_size=12), max_size=6))
def test_leaves_ascend_and_hold_every_state_once(parts: list[list[int]]) -> None:
    before, leaves.LEAF_ROWS = leaves.LEAF_ROWS, 4
    try:
        held = Leaves(MemoryChunks())
        for part in parts:
            held.add(states(part), kept)
            # The saved state contains everything.
            held = Leaves(held._chunks, *held.save())
    finally:
        leaves.LEAF_ROWS = before

    found = [pane for leaf in held.read(lambda _: True) for pane in leaf.column(PANE).to_pylist()]
    assert found == sorted(pane for part in parts for pane in part)
    spans = [(leaf.first, leaf.last) for leaf in held.index]
    assert all(last < first for (_, last), (first, _) in pairwise(spans))
    assert held.rows == len(found)


def test_a_batch_of_new_panes_reads_and_writes_only_the_last_leaf() -> None:
    chunks = Counting()
    held = Leaves(chunks)
    held.add(states(list(range(20_000))), kept)
    before = len(held.index)
    chunks.reads = chunks.writes = 0

    held.add(states([20_000, 20_001]), kept)

    assert before > 2
    assert (chunks.reads, chunks.writes) == (1, 1)


def test_dropped_leaves_are_removed_from_the_store() -> None:
    chunks = MemoryChunks()
    held = Leaves(chunks)
    held.add(states(list(range(20_000))), kept)

    held.drop(lambda leaf: leaf.last < 10_000)

    assert len(chunks.batches) == len(held.index) > 0


def test_states_that_are_taken_out_are_returned_and_their_leaves_rewritten() -> None:
    chunks = Counting()
    held = Leaves(chunks)
    held.add(states(list(range(20_000))), kept)
    first = held.index[0]
    chunks.reads = chunks.writes = 0

    taken = held.take(
        lambda leaf: leaf.first < 10, lambda states: states.column(PANE).to_numpy() % 2 == 0
    )

    assert [part.column(PANE).to_pylist() for part in taken] == [list(range(0, first.rows, 2))]
    assert (chunks.reads, chunks.writes) == (1, 1)
    assert (held.index[0].first, held.rows) == (1, 20_000 - taken[0].num_rows)
    assert len(held.take(lambda _: True, lambda states: np.ones(states.num_rows, np.bool_))) > 2
    assert (held.index, chunks.batches) == ([], {})


class Counting(MemoryChunks):
    """Chunks that count reads and writes."""

    reads = 0
    writes = 0

    def get(self, number: int) -> Batch:
        self.reads += 1
        return super().get(number)

    def put(self, number: int, rows: Batch) -> None:
        self.writes += 1
        super().put(number, rows)


def test_leaves_of_which_a_state_is_chosen_are_removed_whole() -> None:
    chunks = MemoryChunks()
    held = Leaves(chunks, size=4)
    held.add(states([*range(12)]), kept)
    _, second, *others = [(leaf.first, leaf.last) for leaf in held.index]

    taken = held.take_leaves(
        lambda leaf: leaf.first > 0, lambda states: states.column(PANE).to_numpy() == second[1]
    )

    assert [part.column(PANE).to_pylist() for part in taken] == [[*range(second[0], second[1] + 1)]]
    assert [(leaf.first, leaf.last) for leaf in held.index] == [(0, second[0] - 1), *others]
    assert len(chunks.batches) == len(held.index)
