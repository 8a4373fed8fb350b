"""The temporal operators by definition: the events that count at each instant.

An event is `(start, end, payload)`. An end of None means that it never ends. Times are small
integers, so that every instant can be tried.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from hypothesis import assume

Event = tuple[int, int | None, tuple[Any, ...]]
Stream = Sequence[Event]

FIRST, LAST = -20, 60
"""Bounds of all finite times in tests that try each instant."""
NEVER_BEGAN, NEVER_ENDS = -(10**6), 10**6


def alive(event: Event, instant: int) -> bool:
    start, end, _ = event
    return start <= instant and (end is None or instant < end)


def end_of(event: Event) -> int:
    return NEVER_ENDS if event[1] is None else event[1]


def made(pieces: Iterable[tuple[int, int, tuple[Any, ...]]]) -> Counter[Event]:
    """Count events. An event that reaches the end of time never ends."""
    return Counter(
        (start, None if end >= NEVER_ENDS else end, payload)
        for start, end, payload in pieces
        if start < end
    )


def alter(events: Stream, duration: int | None) -> Counter[Event]:
    return made((s, NEVER_ENDS if duration is None else s + duration, p) for s, _, p in events)


def shift(events: Stream, by: int) -> Counter[Event]:
    return made((e[0] + by, NEVER_ENDS if e[1] is None else e[1] + by, e[2]) for e in events)


def extend(events: Stream, by: int) -> Counter[Event]:
    return made((e[0], NEVER_ENDS if e[1] is None else e[1] + by, e[2]) for e in events)


def clip(events: Stream, limit: int) -> Counter[Event]:
    return made((e[0], min(end_of(e), e[0] + limit), e[2]) for e in events)


def point_at_end(events: Stream) -> Counter[Event]:
    return made((e[1], e[1] + 1, e[2]) for e in events if e[1] is not None)


def quantize(events: Stream, size: int, hop: int, origin: int) -> Counter[Event]:
    """Round the start down to the grid, and the end up to the end of a window."""
    pieces = []
    for event in events:
        start = event[0]
        while (start - origin) % hop:
            start -= 1
        end = NEVER_ENDS
        if event[1] is not None:
            # The first end of a window that is not before `end`, among windows from `start` on.
            end = start + size
            while end < event[1]:
                end += hop
        pieces.append((start, end, event[2]))
    return made(pieces)


def equal_and_not_null(one: Hashable, other: Hashable) -> bool:
    return one is not None and one == other


def until_next(events: Stream, key: Callable[[Any], Hashable]) -> Counter[Event]:
    return clip_by(events, events, key, key, is_same=operator.eq)


def clip_by(
    left: Stream,
    right: Stream,
    left_key: Callable[[Any], Hashable],
    right_key: Callable[[Any], Hashable],
    is_same: Callable[[Any, Any], bool] = equal_and_not_null,
) -> Counter[Event]:
    pieces = []
    for event in left:
        own = left_key(event[2])
        cuts = [r[0] for r in right if is_same(own, right_key(r[2])) and r[0] > event[0]]
        pieces.append((event[0], min([end_of(event), *cuts]), event[2]))
    return made(pieces)


def sessions(
    events: Stream, key: Callable[[Any], Hashable], timeout: int, most: int | None
) -> Iterator[tuple[int, list[Event]]]:
    """Go through time for each key; return the end of each session, and its events."""
    for name in {key(payload) for _, _, payload in events}:
        mine = [event for event in events if key(event[2]) == name]
        starts = [event[0] for event in mine]
        streak = last = NEVER_BEGAN
        session: list[Event] = []
        for instant in range(min(starts), max(starts) + timeout + 1):
            is_over = instant - last >= timeout
            is_cut = most is not None and instant % most == 0 and instant - streak >= most
            if session and (is_over or is_cut):
                yield instant, session
                session = []
            if instant in starts:
                streak, last = instant if is_over else streak, instant
                session = session + [event for event in mine if event[0] == instant]


def session(
    events: Stream, key: Callable[[Any], Hashable], timeout: int, most: int | None
) -> Counter[Event]:
    return made(
        (start, end, payload)
        for end, members in sessions(events, key, timeout, most)
        for start, _, payload in members
    )


def chop(events: Stream, period: int, origin: int) -> Counter[Event]:
    """Cut events at each instant of the grid. All events must end."""
    pieces = []
    for start, end, payload in events:
        assert end is not None
        cuts = [t for t in range(start + 1, end) if (t - origin) % period == 0]
        bounds = [start, *cuts, end]
        pieces += [(a, b, payload) for a, b in pairwise(bounds)]
    return made(pieces)


def snapshots(
    events: Stream,
    key: Callable[[Any], Hashable],
    answer: Callable[[Hashable, list[Event]], tuple[Any, ...]],
) -> Counter[Event]:
    """Return a result for each key and each stretch in which no event begins or ends."""
    pieces = []
    for name in {key(payload) for _, _, payload in events}:
        mine = [event for event in events if key(event[2]) == name]
        cuts = sorted({bound for event in mine for bound in (event[0], end_of(event))})
        for start, end in pairwise(cuts):
            counting = [event for event in mine if alive(event, start)]
            if counting:
                pieces.append((start, end, answer(name, counting)))
    return made(pieces)


def join(
    left: Stream,
    right: Stream,
    matches: Callable[[Any, Any], bool],
    pair: Callable[[Any, Any], Any],
) -> Counter[Event]:
    return made(
        (max(a[0], b[0]), min(end_of(a), end_of(b)), pair(a[2], b[2]))
        for a in left
        for b in right
        if matches(a[2], b[2])
    )


def anti_join(left: Stream, right: Stream, matches: Callable[[Any, Any], bool]) -> Counter[Event]:
    """Check for a partner in each stretch between two changes."""
    pieces = []
    bounds = {bound for e in (*left, *right) for bound in (e[0], end_of(e))}
    for event in left:
        partners = [other for other in right if matches(event[2], other[2])]
        since = None
        for instant in sorted(bounds):
            is_lonely = alive(event, instant) and not any(alive(p, instant) for p in partners)
            is_lonely = is_lonely and instant < NEVER_ENDS
            if is_lonely and since is None:
                since = instant
            elif not is_lonely and since is not None:
                pieces.append((since, instant, event[2]))
                since = None
    return made(pieces)


def stitch(events: Stream, is_equal: Callable[[Any, Any], bool] = operator.eq) -> Counter[Event]:
    """Continue an event by one that begins where it ends; of several, the one that began first.

    The order of events that begin together is undefined, so no test may depend on it.
    """
    chains: list[list[Any]] = []
    for event in sorted(events, key=lambda event: event[0]):
        start, _, payload = event
        before = [c for c in chains if c[1] == start and is_equal(c[2], payload)]
        if before:
            likely = [
                e for e in events if e[0] == start and any(is_equal(c[2], e[2]) for c in before)
            ]
            assume(len({(end_of(each), each[2]) for each in likely}) == 1)
            first = min(chain[0] for chain in before)
            assume(len({chain[2] for chain in before if chain[0] == first}) == 1)
            min(before, key=lambda chain: chain[0])[1] = end_of(event)
        else:
            chains.append([start, end_of(event), payload])
    return made((start, end, payload) for start, end, payload in chains)


def renamed(events: Counter[Event], change: Callable[[Any], tuple[Any, ...]]) -> Counter[Event]:
    """Replace the payloads of events."""
    found: Counter[Event] = Counter()
    for (start, end, payload), count in events.items():
        found[start, end, change(payload)] += count
    return found


def at_each_instant(events: Iterable[Event]) -> list[Counter[Any]]:
    """Return the payloads that count at each instant, however events are cut into pieces."""
    found = Counter(events)
    return [
        Counter(
            {
                e[2]: sum(n for other, n in found.items() if other[2] == e[2] and alive(other, t))
                for e in found
                if alive(e, t)
            }
        )
        for t in range(FIRST, LAST)
    ]
