from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql.types import LongType, StructField, StructType

import latecomer as lc
from latecomer.clock.policy import OneClock
from latecomer.errors import ColumnNameError, OptionError, OwnerError
from latecomer.hosts.spark.durable.owner import Owner, claim, release
from latecomer.hosts.spark.flush import check_ends
from latecomer.hosts.spark.outputs import Format
from latecomer.hosts.spark.sinks import Options, Writer, check, own, write_rest
from latecomer.plan import Plan, Source
from latecomer.time import TimeColumn

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

ROWS = StructType([StructField("id", LongType())])
BATCH = StructType([StructField("Batch", LongType())])
SCHEMAS = {"ready": ROWS, "late": ROWS}
PLAN = Plan(Source(TimeColumn("time")), OneClock((0,)), "divert", ())
DROPPING = replace(PLAN, late="drop")


@pytest.fixture(scope="module")
def stream(spark: SparkSession) -> DataFrame:
    return spark.readStream.format("rate").load()


def test_valid_outputs_are_accepted(stream: DataFrame) -> None:
    check(stream, SCHEMAS, {"ready": "out", "late": "out"}, PLAN)
    # A function writes no directories, so a column may have their name.
    check(stream, {"ready": BATCH}, {"ready": lambda *_: None}, DROPPING)


def test_a_table_is_not_started(spark: SparkSession) -> None:
    with pytest.raises(OptionError, match="this DataFrame is not streaming"):
        check(spark.range(1), SCHEMAS, {"ready": "out"}, PLAN)


@pytest.mark.parametrize(("outputs", "got"), [({}, "none"), ({"redy": "out"}, "redy")])
def test_outputs_that_are_not_there_are_refused(
    stream: DataFrame, outputs: dict[str, str], got: str
) -> None:
    with pytest.raises(OptionError, match=f"outputs are named ready and late; got {got}"):
        check(stream, SCHEMAS, outputs, PLAN)


def test_a_column_named_like_the_directories_is_refused(stream: DataFrame) -> None:
    with pytest.raises(ColumnNameError, match='Hint: rename it first, for example to "batch_id"'):
        check(stream, {"ready": BATCH}, {"ready": "out"}, DROPPING)


def test_late_rows_without_an_output_are_refused(stream: DataFrame) -> None:
    with pytest.raises(OptionError, match=r'late is missing.*\nHint: .*"late": "out/late"'):
        check(stream, SCHEMAS, {"ready": "out"}, PLAN)
    check(stream, SCHEMAS, {"ready": "out"}, DROPPING)


def test_late_rows_that_are_folded_back_are_not_to_be_dropped_instead(stream: DataFrame) -> None:
    folding = replace(PLAN, clock=OneClock((0,), horizon=9))
    with pytest.raises(OptionError, match="late rows that come after the horizon") as raised:
        check(stream, SCHEMAS, {"ready": "out"}, folding)
    assert "drop" not in str(raised.value)


def test_each_output_is_written_as_it_was_asked_for(spark: SparkSession) -> None:
    kept: dict[str, str] = {}
    names = ("ready", "late", "recall")
    outputs: dict[str, Any] = {
        name: lambda df, _, name=name: kept.update({name: df.schema.simpleString()})
        for name in names
    }
    several = replace(PLAN, clock=OneClock((0, 5)))
    writer = Writer(outputs, Owner("", "", 1, ""), several, Format("interval", "columns"))
    window = "named_struct('start', 0L, 'end', 10L) AS window"

    for name, columns in zip(
        names, ((window, "'1 s' AS wait"), ("1L _delay", "1L _behind"), ("1L wait",)), strict=True
    ):
        writer.write(spark.range(1).selectExpr(*columns), name, 0)

    assert kept == {
        "ready": "struct<window_start:bigint,window_end:bigint,wait:interval day to second>",
        "late": "struct<_delay:interval day to second,_behind:interval day to second>",
        "recall": "struct<wait:interval day to second>",
    }


def test_a_micro_batch_that_is_run_again_replaces_what_it_wrote(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = str(tmp_path / "out")
    for run, numbers in enumerate([(0, 1), (1, 2)]):
        options = Options(f"{tmp_path}/checkpoint", None, None, "keep", Format())
        writer = own(spark, {"ready": path}, PLAN, options)
        for number in numbers:
            writer.owner.check(spark)
            writer.write(spark.range(3 + run), "ready", number)
            writer.end(spark.range(1), number, ({}, {}))
    release(f"{tmp_path}/checkpoint")

    for rows in (lc.read(spark, path), spark.read.parquet(path)):
        found = rows.groupBy("batch").count().collect()
        assert {row.batch: row["count"] for row in found} == {0: 3, 1: 4, 2: 4}


def test_a_function_is_given_the_rows_and_the_number_of_the_micro_batch(
    spark: SparkSession, tmp_path: Path
) -> None:
    seen = []
    rows = spark.range(1)
    sink = {"ready": lambda given, number: seen.append((given, number))}

    options = Options(f"{tmp_path}/checkpoint", None, None, "keep", Format())
    own(spark, sink, PLAN, options).write(rows, "ready", 7)
    release(f"{tmp_path}/checkpoint")

    assert seen == [(rows, 7)]


def test_a_driver_whose_output_is_refused_does_not_take_the_checkpoint(
    spark: SparkSession, tmp_path: Path
) -> None:
    options = Options(f"{tmp_path}/checkpoint", None, None, "keep", Format())
    running = own(spark, {"ready": f"{tmp_path}/ready"}, DROPPING, options).owner
    release(options.checkpoint)
    spark.range(1).write.parquet(f"{tmp_path}/taken")

    with pytest.raises(OptionError, match="files that no checkpoint"):
        own(spark, {"ready": f"{tmp_path}/taken"}, DROPPING, options)

    running.check(spark)

    with pytest.raises(OptionError, match="there is no table nowhere"):
        own(spark, {"ready": lc.table("nowhere")}, DROPPING, options)

    running.check(spark)


class Kept:
    """A place that records which writer wrote which micro-batch."""

    def __init__(self) -> None:
        self.written: list[tuple[int, str]] = []

    def check(self, spark: SparkSession) -> None:
        pass

    def write(self, rows: DataFrame, number: int, writer: str) -> None:
        self.written.append((number, writer))


def test_a_writer_has_a_name_for_each_output_which_it_keeps_when_it_is_started_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    place = Kept()
    names = []
    for checkpoint in ("one", "one", "other"):
        options = Options(f"{tmp_path}/{checkpoint}", None, None, "keep", Format())
        writer = own(spark, {"ready": place, "late": place}, PLAN, options)
        # A table can be read from the first micro-batch on.
        assert writer.from_first == ["ready", "late"]
        writer.write(spark.range(1), "ready", 4)
        writer.write(spark.range(1), "late", 4)
        writer.end(spark.range(1), 4, ({}, {}))
        release(options.checkpoint)
        names.append([name for _, name in place.written[-2:]])

    assert names[0] == names[1]
    assert len({*names[0], *names[2]}) == 4
    assert {number for number, _ in place.written} == {4}


def test_a_driver_that_was_replaced_does_not_end_the_stream(
    spark: SparkSession, tmp_path: Path
) -> None:
    checkpoint = f"{tmp_path}/checkpoint"
    replaced, owner = claim(spark, checkpoint), claim(spark, checkpoint)
    release(checkpoint)

    with pytest.raises(OwnerError, match="now belongs to process"):
        write_rest(spark.range(0), {}, Writer({}, replaced, PLAN, Format()), checkpoint)
    # So the other driver continues with the held rows.
    check_ends(spark, checkpoint, None, "keep")
    nothing = spark.createDataFrame([], "output string, rows long, blob binary")
    write_rest(nothing, {}, Writer({}, owner, PLAN, Format()), checkpoint)

    with pytest.raises(OptionError, match="has ended"):
        check_ends(spark, checkpoint, None, "keep")
