"""Write the states and checkpoints that the upgrade tests read: `python -m tests.upgrades`.

States of released versions are never changed. Those of the next version are written again whenever
their format changes before its release.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import latecomer as lc
from tests.upgrades.checkpoints import CHECKPOINTS, KEPT, add_rows, pack
from tests.upgrades.kept_host import KeptHost
from tests.upgrades.queries import QUERIES, SECOND, started

STATES = Path(__file__).with_name("states")
UNDER_WAY = "0.2.0"
"""The version whose states are written. Raise it after its release, and keep the old folder."""
BEFORE = 5
"""Number of micro-batches before states are written."""


def main() -> None:
    """Run each query for some micro-batches, and write its state."""
    # One task at a time writes fewer files, which keeps checkpoints small.
    config = {"spark.sql.shuffle.partitions": "1"}
    spark = lc.session("latecomer-upgrades", master="local[1]", config=config)
    directory = STATES / UNDER_WAY
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    for name in QUERIES:
        plan, batches = started(spark, name)
        host = KeptHost(plan, *(table.schema for table in batches[0]))
        for number, tables in enumerate(batches[:BEFORE]):
            host.step(*tables, now=number * SECOND)
        host.write(directory / f"{name}.zip")
    for name, kept in KEPT.items():
        with tempfile.TemporaryDirectory() as there:
            add_rows(Path(there), 0)
            kept.run(spark, Path(there), "keep")
            pack(Path(there), CHECKPOINTS / UNDER_WAY / f"{name}.zip")
    written = [*directory.iterdir(), *(CHECKPOINTS / UNDER_WAY).iterdir()]
    print(f"{len(written)} files, {sum(path.stat().st_size for path in written):,} bytes")


if __name__ == "__main__":
    main()
