"""Warn customers at once that their account is overdrawn, and retract wrong warnings.

Card payments reach the bank at once, but transfers from other banks may be minutes late, so an
account may only look overdrawn. Waiting ten minutes for them would delay every alert.

    python examples/overdrafts.py

    12:00  salary       +2,000     arrives at 12:08
    12:05  rent           −900     arrives at 12:05     balance −900: overdrawn!
                                   at 12:08             balance 1,100: it never was

Here each balance and each alert is computed at once. When a transfer comes late, the balances after
it are corrected, and wrong alerts are retracted. A table holds the alerts that stand.
"""

import argparse
import tempfile
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Row, SparkSession

import latecomer as lc

PAYMENTS, ACCOUNTS, SEED = 6_000, 40, 11
SECOND = 1_000_000
SPAN = 3_600
"""Time that all payments take, in seconds."""
MICRO_BATCHES = 4
WAIT = "10 minutes"


def balance(cents: int, row: Any) -> tuple[int, tuple[int, bool]]:  # noqa: ANN401 - a named tuple
    """Return the new balance, and whether this payment has overdrawn the account."""
    after = cents + row.cents
    return after, (after, cents >= 0 > after)


def alert(row: Any) -> tuple[int, int] | None:  # noqa: ANN401
    """Return an alert if the payment has overdrawn the account."""
    return (row.account, row.balance) if row.is_overdrawn else None


def payments() -> pa.Table:
    """Generate payments in order of arrival: every fifth one is a transfer, and may be late."""
    random = np.random.default_rng(SEED)
    times = np.sort(random.integers(0, SPAN * SECOND, PAYMENTS))
    is_transfer = random.random(PAYMENTS) < 0.2
    cents = np.where(is_transfer, 40_000, -random.integers(100, 20_000, PAYMENTS))
    delays = np.where(is_transfer, random.integers(0, 9 * 60 * SECOND, PAYMENTS), 0)
    arrivals = times + delays
    table = pa.table(
        {
            "time": pa.array(times, pa.timestamp("us", "UTC")),
            "arrival": pa.array(arrivals, pa.timestamp("us", "UTC")),
            "account": random.integers(0, ACCOUNTS, PAYMENTS),
            "cents": cents,
        }
    )
    return table.take(pa.array(np.argsort(arrivals, kind="stable")))


def arriving(spark: SparkSession, directory: str) -> DataFrame:
    """Replay the payments in a few micro-batches."""
    pq.write_table(payments(), f"{directory}/payments.parquet")
    replay = spark.readStream.format("latecomer.replay")
    return replay.option("rowsPerBatch", PAYMENTS // MICRO_BATCHES).load(
        f"{directory}/payments.parquet"
    )


def balances(df: DataFrame) -> lc.OptimisticStream:
    """Return the query: the balance of each account after each payment."""
    events = lc.disordered(df, time="time", key="account").optimistic(wait=WAIT)
    outputs = "balance long, is_overdrawn boolean"
    return events.stateful(balance, initial=0, outputs=outputs)


def main(spark: SparkSession) -> tuple[list[Row], list[Row]]:
    """Print how many alerts were retracted; return all changes of alerts, and the final alerts."""
    said: list[Row] = []
    with tempfile.TemporaryDirectory() as directory:
        known = lc.upsert(f"{directory}/alerts", key=["account", "time"])

        def write(changes: DataFrame, number: int) -> None:
            said.extend(changes.collect())
            known(changes, number)

        alerts = balances(arriving(spark, directory)).flat_map(
            alert, outputs="account long, balance long"
        )
        alerts.changelog().start(
            {"ready": write, "late": lambda *_: None},
            checkpoint=f"{directory}/checkpoint",
            trigger={"availableNow": True},
        ).awaitTermination()
        left = lc.current(spark, f"{directory}/alerts").collect()
    told = sum(row["_change_type"] == "insert" for row in said)
    print(f"{told} alerts were told, each as soon as its payment came")
    print(
        f"{told - len(left)} of them were taken back when a transfer came late; {len(left)} stand"
    )
    return said, left


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.parse_args()
    main(lc.session("overdrafts"))
