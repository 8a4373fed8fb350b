"""Cut rows into batches at any place."""

from itertools import pairwise

from hypothesis import strategies as st

cuts = st.lists(st.integers(0, 25), max_size=4).map(sorted)


def parts(count: int, at: list[int]) -> list[tuple[int, int]]:
    """Yield the begin and the end of each batch."""
    bounds = [0, *(min(cut, count) for cut in at), count]
    return list(pairwise(bounds))
