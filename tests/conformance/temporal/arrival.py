"""The order in which events arrive, the watermark, and which events are late.

In a vector, each input has a clock of its own, and so has each key of a partitioned input. The
clock is `newest - latency`, or the time of a punctuation. Here there is one clock for all, that of
the slowest input. For a partitioned input it is the last low watermark, because a key may go back
to any time after that. A vector whose result depends on the difference needs a clock for each key,
see `own_clocks`, or is not applicable.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from heapq import merge
from typing import Any

from latecomer.time import FOREVER, NEVER
from tests.conformance.applicable import NotApplicableError
from tests.conformance.temporal.events import KEY, PAYLOAD, Event, encoded, time_of
from tests.conformance.temporal.rows import Equality, equality

DATA = ("interval", "start", "end")
CONSTANT = 2
"""The number of the first input that the query adds itself; left and right are 0 and 1."""

PROMISE = encoded({"promise": "of a key"})
"""The payload of rows that only move the clock of their key."""


class OwnClocksError(NotApplicableError):
    """The result of a vector depends on whether each key has a clock of its own."""


@dataclass(frozen=True, slots=True)
class Step:
    """The effect of one event."""

    side: int
    row: dict[str, Any] | None
    watermark: int
    flushes: bool = False
    """Whether the output so far is flushed."""
    restarts: bool = False
    """Whether the query is saved and restored before."""


@dataclass(slots=True)
class Clock:
    """The clock of one input."""

    promised: int = NEVER
    newest: dict[Any, int] = field(default_factory=lambda: defaultdict(lambda: NEVER))
    """The newest time of each key. A stream without keys has one, None."""

    def of_key(self, key: object, latency: int) -> int:
        """Return the time up to which a key is complete."""
        return max(self.promised, self.newest[key] - latency, NEVER)


class Arrival:
    """The events of a vector, as they arrive."""

    def __init__(
        self, vector: dict[str, Any], inputs: list[list[Event]], *, own_clocks: bool = False
    ) -> None:
        """Begin before the first event; the query has added the inputs from `CONSTANT` on.

        With `own_clocks`, the clocks of keys decide which rows are late.
        """
        self._own_clocks = own_clocks
        self._vector, self._inputs = vector, inputs
        self._policies = vector["policies"]
        disorder = self._policies.get("disorder", {})
        self._policy = disorder.get("type", "Throw")
        self._latency = disorder.get("reorder_latency", 0)
        events = [event for side in inputs[:CONSTANT] for event in side]
        self._is_partitioned = any(KEY in e or e["kind"] == "lowwatermark" for e in events)
        self._clocks = [Clock() for _ in inputs]
        for clock in self._clocks[CONSTANT:]:
            clock.promised = FOREVER
        # An equality in the first step also decides which end belongs to which start.
        text = equality(vector["query"][0]) if vector["query"] else None
        self._equality = None if text is None else Equality(text)
        self._next_id = 0
        self._open: dict[Any, list[int]] = defaultdict(list)
        self._moved: dict[Any, list[int]] = defaultdict(list)

    @property
    def is_partitioned(self) -> bool:
        """Whether events have keys."""
        return self._is_partitioned

    def steps(self) -> Iterator[Step]:
        """Yield the steps of all events, and of the end."""
        constants = [
            (side, event)
            for side, events in enumerate(self._inputs[CONSTANT:], CONSTANT)
            for event in events
        ]
        for side, event in constants:
            yield Step(side, self._row(side, event, is_late=False), NEVER)
        head, tail = self._parts()
        for part in (head, tail):
            if part is tail and "checkpoint_after" in self._vector:
                yield Step(0, None, self._watermark(), restarts=True)
            for side, event in _merged(part):
                yield from self._arrived(side, event)
        yield from self._completed()

    def _parts(self) -> tuple[list[list[Event]], list[list[Event]]]:
        """Cut the inputs at the checkpoint."""
        after = self._vector.get("checkpoint_after", 0)
        cuts = [after, self._vector.get("checkpoint_after_right", after)]
        sides = list(zip(self._inputs[:CONSTANT], cuts, strict=True))
        return [events[:cut] for events, cut in sides], [events[cut:] for events, cut in sides]

    def _arrived(self, side: int, event: Event) -> Iterator[Step]:
        clock, time, key = self._clocks[side], time_of(event["sync"]), event.get(KEY)
        if event["kind"] == "punctuation" and self._is_partitioned:
            clock.newest[key] = max(clock.newest[key], time + self._latency)
            if self._own_clocks:
                yield Step(side, self._promise(event), self._watermark())
            return
        if event["kind"] not in DATA:
            clock.promised = max(clock.promised, time)
            yield Step(side, None, self._watermark(), flushes=self._flushes)
            return
        if (due := self._generated(clock, time)) is not None:
            clock.promised = due
            yield Step(side, None, self._watermark(), flushes=self._flushes)
        clock.newest[key] = max(clock.newest[key], time)
        watermark = self._watermark()
        is_late = time < clock.of_key(key, self._latency)
        if is_late != (time < watermark) and not self._own_clocks:
            if self._is_partitioned:
                raise OwnClocksError("keys have clocks of their own")
            raise NotApplicableError("streams that meet have one clock, the slowest")
        row = self._row(side, event, is_late=is_late)
        yield Step(side, row, watermark)

    def _completed(self) -> Iterator[Step]:
        match self._policies.get("on_completed", "EndOfStream"):
            case "EndOfStream":
                yield Step(0, None, FOREVER, flushes=True)
            case "Flush":
                yield Step(0, None, self._watermark(), flushes=True)

    @property
    def _flushes(self) -> bool:
        return bool(self._policies.get("flush", "FlushOnPunctuation") != "None")

    def _generated(self, clock: Clock, time: int) -> int | None:
        """Return the punctuation or low watermark generated before an event, if any."""
        name = "low_watermark" if self._is_partitioned else "punctuation"
        policy = self._policies.get(name, {"type": "None"})
        if policy["type"] != "Time":
            return None
        period, at = policy["period"], time - policy.get("lag", 0)
        last = max(clock.promised, 0)
        return at - at % period if at - (last - last % period) >= period else None

    def _watermark(self) -> int:
        """Return the watermark of the one clock that Latecomer has."""
        used = [clock for clock, side in zip(self._clocks, self._inputs, strict=True) if side]
        if self._is_partitioned:
            return min((clock.promised for clock in used), default=NEVER)
        return min((clock.of_key(None, self._latency) for clock in used), default=NEVER)

    def _row(self, side: int, event: Event, *, is_late: bool) -> dict[str, Any] | None:
        """Return an event as a row; None for the end of a row that was not let in."""
        time, other = time_of(event["sync"]), time_of(event["other"])
        number = -1
        if event["kind"] == "start":
            number = self._begun(side, event, is_late=is_late)
        elif event["kind"] == "end":
            found = self._ended(side, event)
            if found is None:
                return None
            number = found
        return {
            "time": time,
            "end": None if other == FOREVER else other,
            "id": number,
            PAYLOAD: encoded(event.get("payload")),
            KEY: encoded(event.get(KEY)),
        }

    def _promise(self, event: Event) -> dict[str, Any]:
        """Return the punctuation of a key as a row that moves the clock of the key."""
        time = time_of(event["sync"]) + self._latency
        return {"time": time, "end": time + 1, "id": -1, PAYLOAD: PROMISE, KEY: encoded(event[KEY])}

    def _begun(self, side: int, event: Event, *, is_late: bool) -> int:
        self._next_id += 1
        begun = self._moved if is_late else self._open
        begun[self._named(side, event, event["sync"])].append(self._next_id)
        return self._next_id

    def _ended(self, side: int, event: Event) -> int | None:
        """Return the row that ends. Late rows are tried first, as the vectors expect."""
        name = self._named(side, event, event["other"])
        if self._moved[name]:
            number = self._moved[name].pop(0)
            return number if self._policy == "Adjust" else None
        return self._open[name].pop(0) if self._open[name] else None

    def _named(self, side: int, event: Event, start: int) -> tuple[Any, ...]:
        value = event.get("payload")
        value = value if self._equality is None else self._equality.first(value)
        return side, start, encoded(value), encoded(event.get(KEY))


def _merged(sides: Iterable[list[Event]]) -> Iterator[tuple[int, Event]]:
    """Merge inputs by time; each input keeps its order."""
    numbered = ([(side, event) for event in events] for side, events in enumerate(sides))
    return merge(*numbered, key=lambda entry: time_of(entry[1]["sync"]))
