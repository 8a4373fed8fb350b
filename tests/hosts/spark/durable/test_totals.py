from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from latecomer.clock.policy import OneClock
from latecomer.hosts.spark import flush
from latecomer.hosts.spark.durable import totals
from latecomer.hosts.spark.durable.owner import Owner
from latecomer.hosts.spark.durable.totals import KEPT, SLOTS, Recorder, Totals, most, of_parts

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def recorder(checkpoint: Path, epoch: int = 1) -> Recorder:
    return Recorder(
        Owner(str(checkpoint), "id", epoch, f"r{epoch}"), "sales", OneClock((5_000_000,))
    )


def ready(rows: int) -> totals.Counted:
    return {"ready": rows}, {}


def test_totals_are_added_up_through_restarts_and_what_runs_again_counts_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    first = recorder(tmp_path)
    for batch, rows in enumerate((3, 4, 5)):
        first.write(spark, batch, ready(rows))
    assert totals.read(spark, str(tmp_path))[-1].totals == {"ready": 12}

    # Micro-batch 2 was written but not committed, so the second run repeats it.
    second = recorder(tmp_path, 2)
    second.write(spark, 2, ready(5))
    second.write(spark, 3, ready(1))

    last = totals.read_local(tmp_path)[-1]
    assert (last.batch, last.since, last.epoch) == (3, 0, 2)
    assert (last.totals, last.tally) == ({"ready": 13}, {"ready": 1})
    assert last.waits == {"5000000": "5 seconds"}


def test_a_query_that_has_ended_is_not_kept(tmp_path: Path) -> None:
    writing = recorder(tmp_path)
    writing.last = Totals(40, 0, {"in": 900}, written=1.0)
    totals.publish("a run", writing)
    assert totals.published("a run") == writing.last

    del writing
    gc.collect()

    assert totals.published("a run") is None


def test_the_number_of_records_is_limited(spark: SparkSession, tmp_path: Path) -> None:
    writing = recorder(tmp_path)
    for batch in range(SLOTS + 5):
        writing.write(spark, batch, ready(1))

    found = totals.read_local(tmp_path)
    assert len(found) == SLOTS
    assert (found[0].batch, found[-1].batch) == (5, SLOTS + 4)
    assert found[-1].totals == {"ready": SLOTS + 5}


def test_at_the_end_of_a_stream_nothing_is_held(spark: SparkSession, tmp_path: Path) -> None:
    writing = recorder(tmp_path)
    writing.write(spark, 0, ({"ready": 3, "rows_held": 4}, {}))
    writing.write(spark, flush.NUMBER, ready(4))

    last = totals.read_local(tmp_path)[-1]
    assert (last.batch, last.totals) == (
        flush.NUMBER,
        {"ready": 7, "rows_held": 0, "windows_open": 0},
    )


def test_after_a_gap_counting_starts_again_and_reports_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    recorder(tmp_path).write(spark, 0, ready(3))
    recorder(tmp_path).write(spark, 7, ready(2))

    last = totals.read_local(tmp_path)[-1]
    assert (last.batch, last.since, last.totals) == (7, 7, {"ready": 2})


def test_a_record_that_a_power_cut_has_damaged_is_left_out(
    spark: SparkSession, tmp_path: Path
) -> None:
    first = recorder(tmp_path)
    first.write(spark, 0, ready(3))
    first.write(spark, 1, ready(4))
    (tmp_path / "latecomer/totals/slot-1").write_bytes(b'{"batch": 1, "to')

    (found,) = totals.read_local(tmp_path)
    assert (found.batch, found.totals) == (0, {"ready": 3})
    # The micro-batch is repeated; otherwise counting starts again.
    recorder(tmp_path, 2).write(spark, 1, ready(4))
    assert totals.read_local(tmp_path)[-1].totals == {"ready": 7}


def test_a_checkpoint_that_has_not_run_is_not_counted(spark: SparkSession, tmp_path: Path) -> None:
    totals.check(spark, str(tmp_path / "new"))

    assert totals.read_local(tmp_path / "new") == []


def test_tallies_of_buckets_are_added_to_the_rows_of_outputs() -> None:
    tallies = [
        b'{"in": 3, "newest": 9}\n{"a": 1}',
        b'{"in": 4, "newest": 7}\n{"a": 2, "b": 1}',
        b'{"in": 1}',
    ]

    found = of_parts([("ready", 2, None), *(("tally", 0, each) for each in tallies)])

    assert found == ({"ready": 2, "in": 8, "newest": 9}, {"a": 3, "b": 1})


def test_of_many_keys_the_worst_are_kept_and_never_counted_too_high() -> None:
    kept: dict[str, int] = {}
    for number in range(2 * KEPT):
        kept = most(kept, {"often": 2, str(number): 1})

    assert len(kept) <= KEPT
    assert next(iter(kept)) == "often"
    total = 3 * 2 * KEPT
    assert 4 * KEPT - total / KEPT <= kept["often"] <= 4 * KEPT


def test_a_record_can_be_written_and_read() -> None:
    assert Totals(3, 0).after(4, ready(2)).totals == {"ready": 2}
