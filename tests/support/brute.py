"""Slow twins of the window join, and of the buffers before it."""

from collections.abc import Callable, Sequence
from itertools import product

Tuple = tuple[int, int, int]
"""Stream, time, value."""
Result = tuple[int, tuple[int, ...]]
"""The time of a result, and the positions of its tuples among the arrivals, by stream."""


def k_slack(times: Sequence[int], wait: int) -> list[int]:
    """Sort by K-slack, arrival by arrival; return positions in order of output."""
    held: list[int] = []
    out: list[int] = []
    for at in range(len(times)):
        held.append(at)
        newest = max(times[: at + 1])
        due = sorted((i for i in held if times[i] + wait <= newest), key=lambda i: times[i])
        held = [i for i in held if i not in due]
        out += due
    return out


def synchronized(arrivals: Sequence[Tuple], streams: int) -> list[int]:
    """Follow Algorithm 1 line by line; return positions in order of output."""
    clock = float("-inf")
    held: list[int] = []
    out: list[int] = []
    for at, (_, time, _) in enumerate(arrivals):
        if time <= clock:
            out.append(at)
            continue
        held.append(at)
        while {arrivals[i][0] for i in held} == set(range(streams)):
            clock = min(arrivals[i][1] for i in held)
            out += [i for i in held if arrivals[i][1] == clock]
            held = [i for i in held if arrivals[i][1] != clock]
    return out


def joined(
    received: Sequence[Tuple], windows: Sequence[int], holds: Callable[[tuple[int, ...]], bool]
) -> list[Result]:
    """Follow Algorithm 2 line by line."""
    clock = float("-inf")
    inside: list[list[int]] = [[] for _ in windows]
    results = []
    for at, (stream, time, _) in enumerate(received):
        if time >= clock:
            clock = time
            for other, window in enumerate(windows):
                if other != stream:
                    inside[other] = [i for i in inside[other] if received[i][1] >= time - window]
            found = product(*([at] if i == stream else some for i, some in enumerate(inside)))
            results += [
                (time, rows) for rows in found if holds(tuple(received[i][2] for i in rows))
            ]
        if time >= clock - windows[stream]:
            inside[stream].append(at)
    return results


def every_result(
    arrivals: Sequence[Tuple], windows: Sequence[int], holds: Callable[[tuple[int, ...]], bool]
) -> list[Result]:
    """Try all combinations; keep those whose tuples lie within their windows before the last."""
    places = [[at for at, each in enumerate(arrivals) if each[0] == i] for i in range(len(windows))]
    results = []
    for rows in product(*places):
        times = [arrivals[at][1] for at in rows]
        near = all(max(times) - t <= w for t, w in zip(times, windows, strict=True))
        if near and holds(tuple(arrivals[at][2] for at in rows)):
            results.append((max(times), rows))
    return sorted(results)
