"""The counts of a bucket in a micro-batch: one small row beside its outputs, as JSON.

    {"in": 512, "delay_0": 500, "delay_1000": 12, "rows_held": 40, "newest": 1789…}

`hosts.tally` says what the counts are and adds them up: for the progress of the query (`progress`),
and for the totals of its checkpoint (`durable.totals`).

The number of held rows is reported as a change, because most buckets may sleep in a micro-batch:
the sum of all changes is the number of rows held now.

Late rows by key are reported for the `WORST` keys of each bucket and micro-batch, in a second line.
They are left out if the stream is redacted.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow.compute as pc

from latecomer.batch import Batch, decode
from latecomer.clock.policy import ClockPolicy
from latecomer.clock.watermark import Clock
from latecomer.hosts.output import READY, Output
from latecomer.hosts.spark.bucket_labels import labels
from latecomer.hosts.spark.delivery import Delivery, Part
from latecomer.hosts.spark.parcels import STATES
from latecomer.hosts.tally import (
    ANSWERS,
    NEWEST,
    OF_REASON,
    READ,
    REFINED,
    ROWS_HELD,
    TALLY,
    WATERMARK,
    WINDOWS_OPEN,
    Tally,
    delayed,
)
from latecomer.operators.base import LATE
from latecomer.operators.levels import WAIT
from latecomer.plan import Plan
from latecomer.time import FOREVER, NEVER

WORST = 10
"""Number of keys with late rows that a bucket reports in a micro-batch."""
_COUNTED_APART = {LATE, "ahead"}


class Counting:
    """The counts of one bucket in one micro-batch."""

    def __init__(self, plan: Plan, at: int, bucket: int, buckets: int) -> None:
        """Begin to count in stage `at` of the plan."""
        self._plan = plan
        self._at = at
        self._is_first = bucket == int(labels(buckets)[0])
        self._counts: Counter[str] = Counter()
        self._clock: Tally = {}
        self._keys: Counter[str] = Counter()
        self._branches = _branches(plan, at)
        self._read = [number for number, (_, at) in enumerate(self._branches) if at == 0]
        """Numbers of the branches whose rows were just read, not results of an earlier stage."""

    def arrived(self, parcels: list[dict[str, Any]], delivery: Delivery, newest: int) -> None:
        """Count the rows that have come, given the newest time of all micro-batches before."""
        asides = {self._branches[number][0].source.late for number in self._read}
        for parcel in parcels:
            branch, kind = parcel["branch"], parcel["kind"]
            if kind in asides:
                self._counts[READ] += parcel["rows"]
                self._count_reasons(decode(parcel["blob"]))
            elif branch in self._read and kind in ("rows", STATES):
                self._clock[NEWEST] = max(self._clock.get(NEWEST, NEVER), parcel["newest"])
                if self._is_told(branch):
                    self._counts[READ] += parcel["rows"]
        if self._plan.clock.columns:
            # Each key has a clock of its own, so delays are not counted.
            return
        for number in self._read:
            source = self._branches[number][0].source
            seen = delivery.inputs[number] if self._is_told(number) else []
            for rows in (*seen, *(delivery.checks if number == 0 else ())):
                self._counts.update(dict(delayed(source.time.micros(rows), newest)))

    def ran(self, clock: Clock) -> None:
        """Record the watermark of a step."""
        is_set = NEVER < clock.watermark < FOREVER and clock.newest != NEVER
        if is_set and not self._plan.clock.recalls:
            self._clock[WATERMARK] = clock.watermark

    def watched(self, outputs: Iterator[Output]) -> Iterator[Output]:
        """Yield the outputs, and count them."""
        late = {each.source.late: each for each in self._plan.inputs}
        is_last = self._at == len(self._plan.stages) - 1
        for output in outputs:
            if output.batch is not None:
                if output.name == READY and is_last:
                    self._counts.update(answers(output.batch, self._plan.clock))
                elif output.name in late:
                    self._count_late(output.batch, late[output.name])
            yield output

    def held(self, before: tuple[int, int], now: tuple[int, int]) -> None:
        """Count the change of what is held, in rows and states of windows."""
        for name, were, are in zip((ROWS_HELD, WINDOWS_OPEN), before, now, strict=True):
            self._counts[name] += are - were

    def part(self) -> Iterator[Part]:
        """Yield the counts, if there are any.

        They are the same bytes in whatever order the shuffle has handed over the parcels.
        """
        counts = {name: int(count) for name, count in self._counts.items() if count}
        lines = [counts | self._clock]
        if self._keys:
            worst = sorted(self._keys.items(), key=lambda each: (-each[1], each[0]))
            lines.append(dict(worst[:WORST]))
        if any(lines):
            told = "\n".join(json.dumps(each, sort_keys=True) for each in lines)
            yield {"output": TALLY, "rows": 0, "blob": told.encode()}

    def _is_told(self, branch: int) -> bool:
        """Return False for rows that every bucket has a copy of, unless this is the first one."""
        return self._is_first or not self._branches[branch][0].stages[0].everywhere

    def _count_reasons(self, late: Batch) -> None:
        for found in pc.value_counts(late.column("_reason")).to_pylist():
            if found["values"] not in _COUNTED_APART:
                self._counts[OF_REASON[found["values"]]] += found["counts"]

    def _count_late(self, late: Batch, plan: Plan) -> None:
        if plan.stages[0].everywhere and not self._is_first:
            return
        self._count_reasons(late)
        key = plan.stages[0].key
        if not key or self._plan.is_redacted:
            return
        self._keys.update(dict(late_by_key(late, key)))


def late_by_key(
    late: Batch, key: Sequence[str], weight: str | None = None
) -> Iterator[tuple[str, int]]:
    """Yield the keys with most late rows as JSON, and how many each has.

    Args:
        late: Late rows, or states of them.
        key: The columns of the key; without any, nothing is counted.
        weight: The column with the number of rows of each state.
    """
    if not key or not late.num_rows:
        return
    counted, name = ([], "count_all") if weight is None else (weight, f"{weight}_sum")
    how = "count_all" if weight is None else "sum"
    groups = late.group_by(list(key)).aggregate([(counted, how)])
    most = np.argsort(groups.column(name).to_numpy(), kind="stable")[::-1][:WORST]
    for row in groups.take(most).to_pylist():
        yield json.dumps({each: _plain(row[each]) for each in key}), row[name]


def answers(ready: Batch, clock: ClockPolicy) -> Counter[str]:
    """Count the result rows of each of several waits, and those that refine earlier results."""
    found: Counter[str] = Counter()
    if not clock.waits[1:] or WAIT not in ready.column_names:
        return found
    # Not every worker needs the module.
    from latecomer.operators.windows.aggregate import IS_CHANGED

    # The column has the text that the user gave for each wait.
    waits = dict(zip(clock.wait_texts, clock.waits, strict=True))
    for each in pc.value_counts(ready.column(WAIT)).to_pylist():
        found[f"{ANSWERS}{waits[each['values']]}"] += each["counts"]
    if IS_CHANGED in ready.column_names:
        changed = ready.column(WAIT).filter(ready.column(IS_CHANGED))
        for each in pc.value_counts(changed).to_pylist():
            # The answer of the first wait does not refine any other.
            if (wait := waits[each["values"]]) != clock.waits[0]:
                found[f"{REFINED}{wait}"] += each["counts"]
    return found


def _branches(plan: Plan, at: int) -> list[tuple[Plan, int]]:
    """Return the plans whose rows come to a stage, each with the number of its stage run here.

    They are in the order of `Stage.branches`.
    """
    others = (_branches(right, len(right.stages) - 1) for right in plan.stages[at].rights)
    return [(plan, at), *(each for branch in others for each in branch)]


def _plain(value: object) -> object:
    """Return a value that JSON can write; other values as text."""
    return value if isinstance(value, str | int | float | bool | None) else str(value)
