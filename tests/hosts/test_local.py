"""The local host: its clock, rows that are set aside, late rows, and when results come out."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pytest

from latecomer.batch import Batch
from latecomer.clock.policy import OneClock
from latecomer.clock.watermark import Clock
from latecomer.errors import LateRowError
from latecomer.hosts.local import LocalHost, Step, run
from latecomer.hosts.output import Output
from latecomer.hosts.stage import RunningStage
from latecomer.operators.sort import Sort
from latecomer.plan import LatePolicy, Plan, Source, Stage
from latecomer.time import FOREVER, NEVER, TimeColumn
from tests.chaos.catalogue import Entry, catalogue
from tests.chaos.reference import Rows, counted
from tests.chaos.rows import draw

TIME = TimeColumn("time", "ms")
SCHEMA = pa.schema({"time": pa.int64(), "arrival": pa.int64()})


def plan(late: LatePolicy = "divert", ahead: int | None = None, *, redact: bool = False) -> Plan:
    source = Source(TIME, arrival=TimeColumn("arrival", "ms"), ahead=ahead, redact=redact)
    return Plan(source, OneClock((5_000,)), late, (Stage((), (Sort(TIME),)),))


def rows(*times: int | None) -> pa.Table:
    return pa.table([list(times), [None] * len(times)], schema=SCHEMA)


def test_the_clock_is_set_by_earlier_batches() -> None:
    host = LocalHost(plan(), SCHEMA)
    watermarks = [host.step(rows(*times)).watermark for times in [(10,), (20, 1), (3,), ()]]

    assert watermarks == [NEVER, 5_000, 15_000, 15_000]


def test_the_clock_ticks_in_milliseconds() -> None:
    host = LocalHost(
        Plan(
            Source(TimeColumn("time", "us")), OneClock((0,)), "divert", (Stage((), (Sort(TIME),)),)
        ),
        SCHEMA,
    )
    host.step(rows(1_999))

    assert host.step(rows()).watermark == 1_000


def test_dropped_rows_are_counted() -> None:
    host = LocalHost(plan("drop"), SCHEMA)
    host.step(rows(10))

    step = host.step(rows(1, 2, 7))
    assert (step.dropped, step.late.num_rows) == (2, 0)


def test_adjusted_rows_come_out_at_the_watermark() -> None:
    host = LocalHost(plan("adjust"), SCHEMA)
    host.step(rows(10))

    assert host.step(rows(1, 5)).ready["time"].to_pylist() == [5, 5]


def test_adjusted_rows_do_not_overtake_others_of_equal_time() -> None:
    host = LocalHost(plan("adjust"), SCHEMA)
    host.step(rows(10))

    found = host.step(pa.table([[5, 1, 7, 5, 2, 3], [1, 2, 3, 4, 5, 0]], schema=SCHEMA)).ready

    assert found["time"].to_pylist() == [5] * 5
    assert found["arrival"].to_pylist() == [0, 1, 2, 4, 5]


def test_a_row_without_a_time_is_late_with_a_reason_or_raises() -> None:
    assert LocalHost(plan(), SCHEMA).step(rows(None)).late["_reason"].to_pylist() == ["no time"]
    with pytest.raises(LateRowError, match='column "time" is null'):
        LocalHost(plan("raise"), SCHEMA).step(rows(None))


def test_late_rows_raise_when_told_to() -> None:
    host = LocalHost(plan("raise"), SCHEMA)
    host.step(rows(10))
    with pytest.raises(LateRowError, match="4 milliseconds behind the watermark"):
        host.step(rows(1))


def test_a_row_that_must_not_be_shown_is_refused_without_it() -> None:
    host = LocalHost(plan("raise", ahead=3_000, redact=True), SCHEMA)

    with pytest.raises(LateRowError, match="withheld") as caught:
        host.step(pa.table([[14], [10]], schema=SCHEMA))
    assert "time=14" not in str(caught.value)


def test_a_row_far_ahead_of_its_arrival_does_not_move_the_clock() -> None:
    host = LocalHost(plan(ahead=3_000), SCHEMA)
    batch = pa.table([[10, 14, 13], [10, 10, 10]], schema=SCHEMA)

    step = host.step(batch)
    assert (step.late["time"].to_pylist(), step.late["_reason"].to_pylist()) == ([14], ["ahead"])
    assert host.step(rows()).watermark == 8_000


def test_a_bounded_stream_runs_to_its_end() -> None:
    result = run(plan(), [rows(10), rows(1, 12, None)], SCHEMA)

    assert result.ready["time"].to_pylist() == [10, 12]
    assert result.late["time"].to_pylist() == [None, 1]
    assert result.watermark == FOREVER


every_plan = pytest.mark.parametrize("entry", catalogue(), ids=lambda entry: entry.name)
BATCHES = 6


@dataclass
class InPieces:
    """A stage that gets the rows of each micro-batch in pieces."""

    stage: RunningStage
    rows: int

    @property
    def held(self) -> int:
        return self.stage.held

    def step(self, clock: Clock, inputs: Sequence[Sequence[Batch]]) -> list[Output]:
        pieces = [[piece for batch in side for piece in self._cut(batch)] for side in inputs]
        return list(self.stage.step(clock, pieces))

    def _cut(self, batch: Batch) -> list[Batch]:
        return [batch.slice(at, self.rows) for at in range(0, batch.num_rows, self.rows)]


def told(*steps: Step) -> tuple[Rows, list[Rows], int]:
    """Return all that came out, in any order."""
    lates = zip(*(step.lates for step in steps), strict=True)
    return (
        counted(pa.concat_tables([step.ready for step in steps])),
        [counted(pa.concat_tables(late)) for late in lates],
        sum(step.dropped for step in steps),
    )


@every_plan
@pytest.mark.parametrize("seed", range(2))
def test_other_batches_within_a_micro_batch_change_nothing(entry: Entry, seed: int) -> None:
    streams = draw(random.Random(seed), entry, BATCHES)
    one, other = (LocalHost(entry.plan, *entry.schemas) for _ in range(2))
    for stages in other._stages.values():
        stages[:] = [InPieces(stage, 1 + seed) for stage in stages]

    for batches in zip(*streams, strict=True):
        assert told(one.step(*batches, now=0)) == told(other.step(*batches, now=0))
    assert told(one.finish()) == told(other.finish())


# `test_threads` tests that no row waits for others to fill a batch: each thread has fewer rows.
# A recall and a window join choose how long to wait from one micro-batch to the next.
@pytest.mark.parametrize(
    "entry", [each for each in catalogue() if each.buckets is None], ids=lambda entry: entry.name
)
@pytest.mark.parametrize("seed", range(2))
def test_an_empty_batch_releases_all_that_is_due_and_changes_no_answer(
    entry: Entry, seed: int
) -> None:
    streams = draw(random.Random(seed), entry, BATCHES)
    plain, flushed = (LocalHost(entry.plan, *entry.schemas) for _ in range(2))
    nothing = [schema.empty_table() for schema in entry.schemas]
    before: list[Step] = []
    after: list[Step] = []

    for batches in zip(*streams, strict=True):
        before.append(plain.step(*batches, now=0))
        after.append(flushed.step(*batches, now=0))
        assert told(*after) == told(*before)
        after.append(flushed.step(*nothing, now=0))
        again = flushed.step(*nothing, now=0)
        assert (again.ready.num_rows, again.late.num_rows) == (0, 0)
    assert told(*after, flushed.finish()) == told(*before, plain.finish())
