from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest

from latecomer.hosts.spark import flush
from latecomer.hosts.spark.driver.state_files import StateFiles
from latecomer.hosts.spark.durable import outputs
from latecomer.hosts.spark.durable.ledger import Ledger
from latecomer.hosts.spark.durable.owner import Owner
from latecomer.hosts.spark.upsert import files
from latecomer.hosts.spark.upsert.manifest import Manifest
from tests.chaos.catalogue import catalogue
from tests.chaos.disk import Disk
from tests.chaos.invariants import Violation
from tests.chaos.schedule import Schedule
from tests.chaos.simulator import Simulation, simulate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ENTRIES = catalogue()
SCHEDULES = 1_000
"""`make chaos` runs ten times as many."""
PARTS = 10


@pytest.mark.parametrize("part", range(PARTS))
def test_no_fault_loses_rows(part: int) -> None:
    each = SCHEDULES // PARTS
    for seed in range(part * each, (part + 1) * each):
        simulate(seed, ENTRIES)


def test_a_schedule_follows_from_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    # An owner record contains the time at which it was written.
    monkeypatch.setattr("time.strftime", lambda *_: "today")
    first, again = (Simulation(Schedule.draw(7, ENTRIES)) for _ in range(2))
    first.run()
    again.run()

    assert first.world.log == again.world.log
    assert first.world.disk.files == again.world.disk.files


def recorded_too_early(rows: DataFrame, path: str, number: int, owner: Owner) -> None:
    record = {"checkpoint": owner.id, "batch": number, "epoch": owner.epoch}
    ledger = Ledger(rows.sparkSession, f"{path}/_latecomer")
    ledger.add(f"{number}-{owner.attempt}", {**record, "attempt": owner.attempt})
    rows.write.mode("overwrite").parquet(f"{path}/batch={number}/attempt={owner.attempt}")


def written_over(rows: DataFrame, path: str, number: int, owner: Owner) -> None:
    """Write a batch to a path that is the same for all drivers."""
    same = Owner(owner.checkpoint, owner.id, owner.epoch, "r1-0")
    WRITE(rows, path, number, same)


def cleaned_too_much(self: StateFiles, _batch: int, used: set[str]) -> None:
    for file in list(self._present()):
        if file.name not in used:
            self._files.delete_file(f"{self._directory}/{file.name}")


WRITE = outputs.write
BROKEN: dict[str, tuple[str, Any, str, Any]] = {
    "records come before rows": ("sort, divert", outputs, "write", recorded_too_early),
    "a batch is written over": ("sort, divert", outputs, "write", written_over),
    "nothing is synced": ("sort, divert", Disk, "sync", lambda *_: None),
    "a stop is taken for the end": ("sort, divert", flush, "check_all_read", lambda *_: None),
    "states are deleted too early": (
        "states on the driver, divert",
        StateFiles,
        "_clean",
        cleaned_too_much,
    ),
    "a place is used twice": ("upsert", Manifest, "used", property(lambda _: set())),
    "a reader loses its files": ("upsert", files, "KEPT", 0),
}
"""Code that is broken on purpose, and a plan that reveals it."""


@pytest.mark.parametrize("name", BROKEN)
def test_code_that_is_broken_on_purpose_is_found(name: str) -> None:
    plan, owner, attribute, broken = BROKEN[name]
    entries = [entry for entry in ENTRIES if entry.name == plan]
    with patch.object(owner, attribute, broken), pytest.raises(Violation, match=r"seed \d+: "):
        deque((simulate(seed, entries) for seed in range(400)), maxlen=0)
