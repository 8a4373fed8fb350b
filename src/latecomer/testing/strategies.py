"""Hypothesis strategies for disordered streams.

They need the package `hypothesis`, which Latecomer itself does not need.
"""

from typing import TypeVar

from hypothesis import strategies as st

Cuts = list[int]
Item = TypeVar("Item")


@st.composite
def disordered(
    draw: st.DrawFn, *, max_delay: int, max_size: int = 50, low: int = -100, high: int = 100
) -> list[int]:
    """Draw times in an order of arrival in which no row is more than `max_delay` behind.

    A row is behind by the difference between the newest time before it and its own time.
    """
    times = draw(st.lists(st.integers(low, high), max_size=max_size))
    arrivals = [(time + draw(st.integers(0, max_delay)), -time) for time in sorted(times)]
    # Among rows that arrive together the newest is first, so that others can be `max_delay` behind.
    return [-minus_time for _, minus_time in sorted(arrivals)]


@st.composite
def batchings(draw: st.DrawFn, *, max_size: int = 60) -> Cuts:
    """Draw the sizes of batches; `cut` puts the remaining items into one last batch."""
    return draw(st.lists(st.integers(0, 10), max_size=max_size))


def cut(items: list[Item], cuts: Cuts) -> list[list[Item]]:
    """Return items in batches of these sizes, and one last batch of the remaining items."""
    batches = []
    start = 0
    for size in cuts:
        batches.append(items[start : start + size])
        start += size
    return [*batches, items[start:]]
