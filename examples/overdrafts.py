"""Tell customers at once that their account is overdrawn, and take it back if it was not true.

    python examples/overdrafts.py

Card payments reach the bank at once. Transfers come from other banks, some of them minutes late,
with the time at which they happened. So an account may look overdrawn that is not:

    12:00  salary       +2,000     arrives at 12:08
    12:05  rent           −900     arrives at 12:05     balance −900: overdrawn!
                                   at 12:08             balance 1,100: it never was

Waiting ten minutes before every balance would be late for all. Here each balance and each alert
is told at once; when a transfer comes late, those behind it are corrected, and alerts that were
wrong are taken back. Two tables are kept: of alerts as they are known now, and of balances that
are final.
"""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Row, SparkSession

import latecomer as lc

PAYMENTS, ACCOUNTS, SEED = 6_000, 40, 11
SECOND = 1_000_000
SPAN = 3_600
"""In seconds."""
MICRO_BATCHES = 4
WAIT = "10 minutes"
SCHEMA = "time timestamp, account long, cents long"


def balance(cents: int, row: Any) -> tuple[int, tuple[int, bool]]:  # noqa: ANN401 - a named tuple
    """Add to the balance, and tell whether this payment has overdrawn the account."""
    after = cents + row.cents
    return after, (after, cents >= 0 > after)


def alert(row: Any) -> tuple[int, int] | None:  # noqa: ANN401
    """Make an alert of a balance, if it is one."""
    return (row.account, row.balance) if row.is_overdrawn else None


def payments() -> pa.Table:
    """Make up payments in order of arrival: every fifth one is a transfer, and may be late."""
    random = np.random.default_rng(SEED)
    times = np.sort(random.integers(0, SPAN * SECOND, PAYMENTS))
    is_transfer = random.random(PAYMENTS) < 0.2
    cents = np.where(is_transfer, 40_000, -random.integers(100, 20_000, PAYMENTS))
    delays = np.where(is_transfer, random.integers(0, 9 * 60 * SECOND, PAYMENTS), 0)
    table = pa.table(
        {
            "time": pa.array(times, pa.timestamp("us", "UTC")),
            "account": random.integers(0, ACCOUNTS, PAYMENTS),
            "cents": cents,
        }
    )
    return table.take(pa.array(np.argsort(times + delays, kind="stable")))


def arriving(directory: Path) -> None:
    """Write the payments as files that arrive one after the other."""
    table = payments()
    size = -(-table.num_rows // MICRO_BATCHES)
    for number, start in enumerate(range(0, table.num_rows, size)):
        pq.write_table(table.slice(start, size), directory / f"{number:02}.parquet")


def balances(df: DataFrame) -> lc.OptimisticStream:
    """Say what is computed: the balance of each account after each payment."""
    events = lc.disordered(df, time="time", key="account").optimistic(wait=WAIT)
    outputs = "balance long, is_overdrawn boolean"
    return events.stateful(balance, initial=0, outputs=outputs)


def main(spark: SparkSession) -> tuple[list[Row], list[Row]]:
    """Tell how many alerts were taken back; return all that was said of alerts, and those left."""
    said: list[Row] = []
    with tempfile.TemporaryDirectory() as directory:
        rows = Path(directory, "rows")
        rows.mkdir()
        arriving(rows)
        reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        known = lc.upsert(f"{directory}/alerts", key=["account", "time"])

        def write(changes: DataFrame, number: int) -> None:
            said.extend(changes.collect())
            known(changes, number)

        alerts = balances(reader.parquet(str(rows))).flat_map(
            alert, outputs="account long, balance long"
        )
        alerts.changelog().start(
            {"ready": write},
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
    main(lc.session("overdrafts"))
