"""The paper's algorithms, one item at a time: slow and obvious.

Each step takes and returns `(sign, item)` pairs. A stateful step is a grouping of two and a map
that combines, with the states fed back into the grouping, as in Figure 6.
"""

from bisect import bisect_left
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

Signed = tuple[int, "Item"]


@dataclass(frozen=True)
class Item:
    """A payload and its position: time, source, and a number for each step that made it."""

    place: tuple[Any, ...]
    key: Any
    payload: Any
    is_state: bool = False


class Grouping:
    """Algorithm 2; W(r) is the window that ends before position r."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.buckets: dict[Any, list[Item]] = defaultdict(list)

    def push(self, sign: int, item: Item) -> list[Signed]:
        bucket, n = self.buckets[item.key], self.size

        def windows(first: int, last: int, sign: int) -> list[Signed]:
            found = [tuple(bucket[max(r - n, 0) : r]) for r in range(first, last + 1)]
            return [(sign, replace(w[-1], payload=w)) for w in found]

        places = [each.place for each in bucket]
        p = bisect_left(places, item.place)
        if sign > 0:
            said = windows(p + 1, min(p + n - 1, len(bucket)), -1)
            bucket.insert(p, item)
            return said + windows(p + 1, min(p + n, len(bucket)), 1)
        if bucket[p] != item:
            raise LookupError(item)
        said = windows(p + 1, min(p + n, len(bucket)), -1)
        del bucket[p]
        return said + windows(p + 1, min(p + n - 1, len(bucket)), 1)


class Stateful:
    """A grouping of two and a map that combines. Its states go back into the grouping."""

    def __init__(
        self, update: Callable[[Any, Any], tuple[Any, list[Any]]], initial: object
    ) -> None:
        self.grouping, self.update, self.initial = Grouping(2), update, initial

    def push(self, sign: int, item: Item) -> list[Signed]:
        said: list[Signed] = []
        waiting = deque([(sign, replace(item, place=(*item.place, 0)))])
        while waiting:
            for of, pair in self.grouping.push(*waiting.popleft()):
                *before, last = pair.payload
                # A state was combined already; an item after an item waits for the state between.
                if last.is_state or (before and not before[0].is_state):
                    continue
                state = before[0].payload if before else self.initial
                state, outputs = self.update(state, last.payload)
                place = last.place[:-1]
                said += [
                    (of, Item((*place, child), last.key, output))
                    for child, output in enumerate(outputs)
                ]
                waiting.append((of, Item((*place, 1), last.key, state, is_state=True)))
        return said


def net(said: Iterable[Signed]) -> Counter[tuple[Any, str]]:
    """Cancel items with their tombstones; return the remaining ones by position and payload."""
    left: Counter[tuple[Any, str]] = Counter()
    for sign, item in said:
        left[item.place, str(item.payload)] += sign
    return Counter({each: count for each, count in left.items() if count})
