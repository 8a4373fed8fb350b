"""A checkpoint has one owner: the last one that was started."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import TYPE_CHECKING, cast

import pytest

from latecomer.errors import OwnerError
from latecomer.hosts.spark.durable import owner
from latecomer.hosts.spark.durable.ledger import Ledger
from latecomer.hosts.spark.durable.owner import Owner, claim, release, release_with

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery

HOLD = """
import fcntl, os, sys
file = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR)
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


class Ending:
    """A query that runs until it is ended."""

    isActive = True  # noqa: N815 - Spark's name


def test_each_start_has_a_higher_epoch_and_the_same_checkpoint(
    spark: SparkSession, tmp_path: Path
) -> None:
    first, second = (claim(spark, f"{tmp_path}/checkpoint") for _ in range(2))
    release(f"{tmp_path}/checkpoint")

    assert (first.epoch, second.epoch) == (1, 2)
    assert first.id == second.id
    assert first.attempt != second.attempt


def test_a_driver_that_was_replaced_stops(spark: SparkSession, tmp_path: Path) -> None:
    checkpoint = f"{tmp_path}/checkpoint"
    before = claim(spark, checkpoint)
    before.check(spark)
    after = claim(spark, checkpoint)

    after.check(spark)
    with pytest.raises(OwnerError, match=r"now belongs to process \d+ on .*, since 20"):
        before.check(spark)
    release(checkpoint)


def test_one_of_two_drivers_with_the_same_epoch_stops(spark: SparkSession, tmp_path: Path) -> None:
    checkpoint = f"{tmp_path}/checkpoint"
    first = claim(spark, checkpoint)
    release(checkpoint)
    # Without a lock, the second driver may read the owners before the first is one of them.
    for name in ("0", "z"):
        other = {
            **Ledger(spark, f"{checkpoint}/latecomer/owners").read()[0],
            "attempt": f"r1-{name}",
        }
        Ledger(spark, f"{checkpoint}/latecomer/owners").add(f"owner-{name}", other)

    with pytest.raises(OwnerError, match="now belongs to process"):
        first.check(spark)
    Owner(checkpoint, first.id, 1, "r1-z").check(spark)
    with pytest.raises(OwnerError, match="now belongs to process"):
        Owner(checkpoint, first.id, 1, "r1-0").check(spark)


def test_a_second_process_is_refused_until_the_first_has_ended(
    spark: SparkSession, tmp_path: Path
) -> None:
    checkpoint = f"{tmp_path}/checkpoint"
    claim(spark, checkpoint)
    release(checkpoint)
    held = subprocess.Popen(
        [sys.executable, "-c", HOLD, f"{checkpoint}/latecomer/owners/.lock"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert held.stdout is not None
    assert held.stdout.readline() == "held\n"

    with pytest.raises(OwnerError, match=r"is in use by process \d+ on .*\nHint: stop that query"):
        claim(spark, checkpoint)
    held.kill()
    held.communicate()

    assert claim(spark, checkpoint).epoch == 2
    release(checkpoint)


def test_a_lock_is_given_back_when_its_query_ends(spark: SparkSession, tmp_path: Path) -> None:
    checkpoint = f"{tmp_path}/checkpoint"
    query = Ending()
    claim(spark, checkpoint)
    release_with(cast("StreamingQuery", query), checkpoint)
    assert checkpoint in owner._held

    query.isActive = False

    for _ in range(6_000):
        if checkpoint not in owner._held:
            return
        time.sleep(0.1)
    pytest.fail("the lock is still held")
