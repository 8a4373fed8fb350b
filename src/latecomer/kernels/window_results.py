"""Which rows of the other streams' windows a tuple joins with.

Rows of one stream that have a key in common hang in a *chain*, the oldest first; there is one such
chain for each equality and key, and one for all rows of the stream. A row that probes binds one
stream after the other, each by the chain of an equality with one bound before, and backtracks:

    S2.a = S1.a, S3.b = S1.b       S2 probes with a = 7:  in S1, the chain a = 7
                                   for each row of it:    in S3, the chain b = that row's b
"""

import numpy as np

from latecomer.batch import Mask, Positions
from latecomer.kernels.jit import kernel
from latecomer.kernels.window_counts import Codes
from latecomer.time import Times


@kernel
def find_results(
    rows: tuple[Positions, Times, Codes, Positions],
    fresh: tuple[int, int, Mask, Mask],
    windows: Times,
    walks: tuple[Positions, Positions],
    chains: tuple[Positions, Positions, Positions],
    most: int,
) -> tuple[int, Positions]:
    """Find the rows that join, one of each stream.

    Args:
        rows: Of each row the stream and the time; its codes, a line for each equality and a last
            one of zeros, for all rows; and the two streams of each line.
        fresh: Where to go on; where new rows begin; which rows probe; and which are inserted.
        windows: How long the window of each stream is.
        walks: For a row of each stream, in which order to bind the others, and by which line.
        chains: For each stream, line and code the first and the last row of the chain, and for each
            line and row the next one; −1 if there is none. Kept from one call to the next.
        most: Stop after the row at which so many results have been found.

    Returns:
        Where to go on, and the results: for each the positions of its rows, stream by stream.

    Cost: O(n · lines + rows looked at). Rows at the begin of a chain that have left the window are
    taken off it.
    """
    streams, _, codes, _ = rows
    begin, first, probes, is_inserted = fresh
    heads, tails, nexts = chains
    results, size = np.empty((1_024, len(windows)), np.int64), 0
    p = begin
    while p < len(streams) and size < most:
        if probes[p] and p >= first:
            results, size = _combine(p, rows, windows, walks, (heads, nexts), (results, size))
        if is_inserted[p]:
            for line in range(len(codes)):
                code = codes[line, p]
                if code < 0:
                    continue
                if heads[streams[p], line, code] < 0:
                    heads[streams[p], line, code] = p
                else:
                    nexts[line, tails[streams[p], line, code]] = p
                tails[streams[p], line, code] = p
        p += 1
    return p, results[:size].copy()


@kernel
def _combine(
    p: int,
    rows: tuple[Positions, Times, Codes, Positions],
    windows: Times,
    walks: tuple[Positions, Positions],
    chains: tuple[Positions, Positions],
    sofar: tuple[Positions, int],
) -> tuple[Positions, int]:
    """Add to the results all that one row gives."""
    streams, times, _, _ = rows
    orders, lines = walks
    _, nexts = chains
    results, size = sofar
    many = len(windows)
    bound, at = np.full(many, -1), np.empty(many, np.int64)
    bound[streams[p]] = p
    depth, is_new = 0, True
    while depth >= 0:
        stream, line = orders[streams[p], depth], lines[streams[p], depth]
        since = times[p] - windows[stream]
        if is_new:
            at[depth] = _first(stream, line, since, rows, bound, chains)
            is_new = False
        row = at[depth]
        if depth == many - 2:
            # This is the last stream: each row completes a result, so none is visited again.
            while row >= 0:
                if times[row] >= since and _agrees(row, stream, rows, bound):
                    if size == len(results):
                        results = np.concatenate((results, np.empty_like(results)))
                    bound[stream] = row
                    for i in range(many):
                        results[size, i] = bound[i]
                    bound[stream] = -1
                    size += 1
                row = nexts[line, row]
        if row < 0:
            bound[stream] = -1
            depth -= 1
            continue
        at[depth] = nexts[line, row]
        if times[row] >= since and _agrees(row, stream, rows, bound):
            bound[stream] = row
            depth += 1
            is_new = True
    return results, size


@kernel
def _first(
    stream: int,
    line: int,
    since: int,
    rows: tuple[Positions, Times, Codes, Positions],
    bound: Positions,
    chains: tuple[Positions, Positions],
) -> int:
    """Find the first row of the chain to look into that is in the window."""
    _, times, codes, ends = rows
    heads, nexts = chains
    code = 0
    if line < len(codes) - 1:
        code = codes[line, bound[ends[line, 0] + ends[line, 1] - stream]]
    if code < 0:
        return -1
    head = heads[stream, line, code]
    while head >= 0 and times[head] < since:
        head = nexts[line, head]
    heads[stream, line, code] = head
    return head


@kernel
def _agrees(
    row: int, stream: int, rows: tuple[Positions, Times, Codes, Positions], bound: Positions
) -> bool:
    """Return True if a row equals those bound before in all that has to be equal."""
    _, _, codes, ends = rows
    for line in range(len(codes) - 1):
        if ends[line, 0] == stream or ends[line, 1] == stream:
            partner = bound[ends[line, 0] + ends[line, 1] - stream]
            if partner >= 0 and (codes[line, row] < 0 or codes[line, partner] != codes[line, row]):
                return False
    return True
