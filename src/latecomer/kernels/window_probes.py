"""Probe the windows of the other streams: count the join results of each tuple, or find them.

Tuples come in the order in which the join receives them. A tuple that is not behind any before it
*probes*: in each other stream, it meets the earlier rows that are within that stream's window. Then
it is put into its own window, for others to meet, unless it is too old for it.

Rows of one stream with the same key are linked in a *chain*, in the order in which they came. There
is one chain for each stream, equality and key, and one for all rows of a stream. A row that leaves
its window is removed from its chains, so all rows of a chain are in the window.

**To count results**, the lengths of chains are enough. If all streams share one key, the number is
a product of lengths. In a *star*, each stream shares a key of its own with one centre. There the
number is a product for a row of the centre, and for any other row a sum of products, over the rows
of the centre in its chain.

**To find results**, a row that probes binds one stream after the other, each by the chain of an
equality with a stream bound before, and backtracks:

    S2.a = S1.a, S3.b = S1.b       S2 probes with a = 7:  in S1, the chain a = 7
                                   for each row of it:    in S3, the chain b = that row's b

Each row in a window has a slot (`kernels.queues`), and there is a queue for each stream.
"""

import numpy as np
import numpy.typing as npt

from latecomer.batch import Mask, Positions
from latecomer.kernels.jit import inner_kernel, kernel
from latecomer.kernels.queues import (
    DELAY,
    END,
    FREE,
    PLACE,
    ROW,
    SIZE,
    START,
    STREAM,
    TIME,
    Held,
    enter,
    first,
    leave,
)
from latecomer.time import NEVER, Times

Counts = npt.NDArray[np.float64]
"""Numbers of results: floats, because a product of windows may be larger than any int64."""
Codes = npt.NDArray[np.int64]
"""The number of each row's key, a line for each equality; −1 for null, and for rows of streams that
are not part of the equality."""

Given = tuple[Positions, Times, Positions, Times, Positions]
"""Tuples: streams, times, rows, delays; and the place of each among known rows."""
Join = tuple[Codes, Times, Positions, Positions, Positions, Positions]
"""The join, as six arrays:

1. The keys of rows, by their places.
2. The length of each stream's window.
3. For each stream and line: the number of its first chain, −1 if it has none; whether rows are
   linked in the chain or only counted; and the first chain of the stream that it is paired with.
4. The two streams of each line.
5. The line that ties each stream to the centre.
6. For a row of each stream, the streams to bind, in order: the stream, the line, and the stream
   whose key is looked up.
"""
Chains = tuple[Positions, Positions]
"""For each chain, the first slot, the last slot and the length; the last chain is always empty.
And, for each line and slot, the next slot, the one before, and the chain of the rows it joins."""
Met = tuple[Times, Mask, Times, Counts, Counts]
"""The clock of the join, in an array of one. And for each tuple: whether it came in order, the
oldest time in its window, the number of results of the cross join, and that of the join."""

HEAD, LAST, LENGTH = range(3)
NEXT_SLOT, BEFORE, OPPOSITE = range(3)
BY_KEY, STAR, FOUND = -2, -1, 0
"""Ways to count results: by a key of all streams, around a centre, or by finding them."""


@kernel
def probe(  # noqa: C901, PLR0915 - one loop: calls with all these arrays take longer
    given: Given,
    work: tuple[int, int, int],
    join: Join,
    windows: Held,
    chains: Chains,
    met: Met,
) -> tuple[int, Positions, Positions]:
    """Probe the windows with each tuple, then put it into its own window.

    Args:
        given: The tuples.
        work: The tuple to go on with; the way to count results; and the number of found results
            after which to stop.
        join: The join.
        windows: The rows in the windows, with a free slot for each tuple. It is changed.
        chains: The chains of these rows, which are changed too.
        met: Filled in.

    Returns:
        The tuple to go on with; for each stream the places of the rows of all results; and the
        tuple that found each result.

    Cost: O(n (m + log w)) to count by a key, for m streams and w rows in a window. A star adds the
    rows of the centre that are met; finding results adds the rows that are looked at.
    """
    streams, times, rows, delays, places = given
    start, how, most = work
    slots, free, queues, counters = windows
    codes, lengths, bases, _, arms, _ = join
    ends, links = chains
    clocks, in_order, since, cross, joined = met
    many = len(lengths)
    results, owners = np.empty((many, 0), np.int64), np.empty(0, np.int64)
    if how == FOUND:
        results, owners = np.empty((many, 1_024), np.int64), np.empty(1_024, np.int64)
    widest, centre, size = lengths.max(), arms.argmin(), 0
    sizes = queues[:, END] - queues[:, START] + queues[:, SIZE]
    p = start
    while p < len(times) and size < most:
        stream, time = streams[p], times[p]
        in_order[p] = time >= clocks[0]
        clocks[0] = max(clocks[0], time)
        # No tuple is too old before there is a clock, whatever its window.
        clock = max(clocks[0], NEVER + widest)
        since[p] = clock - lengths[stream]
        cross[p] = joined[p] = 0.0
        if in_order[p]:
            product = 1.0
            for other in range(many):
                slot = first(other, slots, queues)
                while slot >= 0 and slots[slot, TIME] < clock - lengths[other]:
                    leave(other, slot, slots, queues)
                    sizes[other] -= 1
                    free[counters[FREE]] = slot
                    counters[FREE] += 1
                    _take_off(slot, codes, bases, slots, ends, links)
                    slot = first(other, slots, queues)
                if other != stream:
                    product *= sizes[other]
            cross[p] = product
            if how == FOUND:
                before = size
                results, owners, size = _combine(
                    p, given, join, slots, chains, (results, owners, size)
                )
                joined[p] = size - before
            elif how == BY_KEY or stream == centre:
                joined[p] = _arms(places[p], stream, codes, bases, arms, ends)
            elif codes[arms[stream], places[p]] >= 0:
                # It meets rows of the centre, and through them the other streams of the star.
                row = ends[HEAD, bases[centre, arms[stream], 0] + codes[arms[stream], places[p]]]
                joined[p] = _sum_of_arms(row, stream, arms, ends, links)
        if time >= since[p]:
            counters[FREE] -= 1
            slot = free[counters[FREE]]
            slots[slot, TIME], slots[slot, PLACE] = time, places[p]
            slots[slot, STREAM], slots[slot, ROW], slots[slot, DELAY] = stream, rows[p], delays[p]
            enter(stream, slot, slots, queues, counters)
            sizes[stream] += 1
            _hang(slot, codes, bases, slots, ends, links)
        p += 1
    return p, results[:, :size].copy(), owners[:size].copy()


@kernel
def hang(held: Positions, join: Join, windows: Held, chains: Chains) -> None:
    """Link the rows of slots into empty chains, in the order given.

    Cost: O(n · lines).
    """
    for slot in held:
        _hang(slot, join[0], join[2], windows[0], chains[0], chains[1])


@inner_kernel
def _code(line: int, place: int, codes: Codes) -> int:
    """Return the key of a row in a line. In the last line, all rows have the same key."""
    return int(codes[line, place]) if line < len(codes) else 0


@inner_kernel
def _hang(
    slot: int, codes: Codes, bases: Positions, slots: Positions, ends: Positions, links: Positions
) -> None:
    """Count a row in its chains, and link it at their ends."""
    stream = slots[slot, STREAM]
    for line in range(bases.shape[1]):
        code = _code(line, slots[slot, PLACE], codes) if bases[stream, line, 0] >= 0 else -1
        if code < 0:
            links[OPPOSITE, line, slot] = ends.shape[1] - 1
            continue
        links[OPPOSITE, line, slot] = bases[stream, line, 2] + code
        chain = bases[stream, line, 0] + code
        ends[LENGTH, chain] += 1
        if bases[stream, line, 1]:
            last = ends[LAST, chain]
            links[NEXT_SLOT, line, slot], links[BEFORE, line, slot] = -1, last
            if last < 0:
                ends[HEAD, chain] = slot
            else:
                links[NEXT_SLOT, line, last] = slot
            ends[LAST, chain] = slot


@inner_kernel
def _take_off(
    slot: int, codes: Codes, bases: Positions, slots: Positions, ends: Positions, links: Positions
) -> None:
    """Remove a row from its chains."""
    stream = slots[slot, STREAM]
    for line in range(bases.shape[1]):
        code = _code(line, slots[slot, PLACE], codes) if bases[stream, line, 0] >= 0 else -1
        if code < 0:
            continue
        chain = bases[stream, line, 0] + code
        ends[LENGTH, chain] -= 1
        if bases[stream, line, 1]:
            before, after = links[BEFORE, line, slot], links[NEXT_SLOT, line, slot]
            if before < 0:
                ends[HEAD, chain] = after
            else:
                links[NEXT_SLOT, line, before] = after
            if after < 0:
                ends[LAST, chain] = before
            else:
                links[BEFORE, line, after] = before


@inner_kernel
def _sum_of_arms(
    row: int, stream: int, arms: Positions, ends: Positions, links: Positions
) -> float:
    """Return the number of results of the chain that begins with `row`, a row of the centre."""
    total = 0.0
    while row >= 0:
        product = 1.0
        for other in range(len(arms)):
            if other != stream and arms[other] >= 0:
                product *= ends[LENGTH, links[OPPOSITE, arms[other], row]]
        total += product
        row = links[NEXT_SLOT, arms[stream], row]
    return total


@inner_kernel
def _arms(
    place: int,
    without: int,
    codes: Codes,
    bases: Positions,
    arms: Positions,
    ends: Positions,
) -> float:
    """Return the number of results of a row with all streams except `without` and the centre."""
    product = 1.0
    for other in range(len(arms)):
        line = arms[other]
        if other != without and line >= 0:
            code = _code(line, place, codes)
            product *= ends[LENGTH, bases[other, line, 0] + code] if code >= 0 else 0
    return product


@kernel
def _combine(
    p: int,
    given: Given,
    join: Join,
    slots: Positions,
    chains: Chains,
    sofar: tuple[Positions, Positions, int],
) -> tuple[Positions, Positions, int]:
    """Add the results of one tuple to those found so far."""
    codes, _, bases, pairs, _, walks = join
    ends, links = chains
    results, owners, size = sofar
    many = len(bases)
    # The place of the bound row of each stream; −1 for streams that are not bound.
    bound, at = np.full(many, -1), np.full(many, -1)
    own = given[0][p]
    bound[own] = given[4][p]
    depth, is_new = 0, True
    while depth >= 0:
        stream, line = walks[own, depth, 0], walks[own, depth, 1]
        if is_new:
            code = _code(line, bound[walks[own, depth, 2]], codes)
            at[depth] = ends[HEAD, bases[stream, line, 0] + code] if code >= 0 else -1
            is_new = False
            if depth == many - 2 and at[depth] >= 0:
                # This is the last stream: each row completes a result, so none is visited again.
                room = size + ends[LENGTH, bases[stream, line, 0] + code] - len(owners)
                if room > 0:
                    room = max(room, len(owners))
                    results = np.concatenate((results, np.empty((many, room), np.int64)), axis=1)
                    owners = np.concatenate((owners, np.empty(room, np.int64)))
                where = p, at[depth], stream, line
                sofar = results, owners, size
                size = _complete(where, (codes, pairs), (slots, links), bound, sofar)
                at[depth] = -1
        row = at[depth]
        if row < 0:
            bound[stream] = -1
            depth -= 1
            continue
        at[depth] = links[NEXT_SLOT, line, row]
        if _agrees(slots[row, PLACE], stream, codes, pairs, bound):
            bound[stream] = slots[row, PLACE]
            depth += 1
            is_new = True
    return results, owners, size


@inner_kernel
def _complete(
    where: tuple[int, int, int, int],
    join: tuple[Codes, Positions],
    chain: tuple[Positions, Positions],
    bound: Positions,
    sofar: tuple[Positions, Positions, int],
) -> int:
    """Add a result for each row of the last stream; return the number of results.

    Args:
        where: The tuple that probes, the first row of the chain, and its stream and line.
        join: The keys of rows, and the two streams of each line.
        chain: The slots of rows, and their links.
        bound: The place of the bound row of each other stream.
        sofar: The results found so far and their tuples, with room for all rows of the chain; and
            their number.
    """
    (codes, pairs), (slots, links), (results, owners, size) = join, chain, sofar
    p, row, stream, line = where
    while row >= 0:
        place = slots[row, PLACE]
        if len(pairs) == 0 or _agrees(place, stream, codes, pairs, bound):
            for i in range(len(bound)):
                results[i, size] = bound[i]
            results[stream, size] = place
            owners[size] = p
            size += 1
        row = links[NEXT_SLOT, line, row]
    return size


@inner_kernel
def _agrees(place: int, stream: int, codes: Codes, pairs: Positions, bound: Positions) -> bool:
    """Return True if a row has the same keys as all rows bound before that it must equal."""
    for line in range(len(pairs)):
        if pairs[line, 0] == stream or pairs[line, 1] == stream:
            partner = bound[pairs[line, 0] + pairs[line, 1] - stream]
            if partner >= 0 and (
                codes[line, place] < 0 or codes[line, partner] != codes[line, place]
            ):
                return False
    return True
