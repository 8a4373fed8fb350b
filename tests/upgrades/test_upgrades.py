"""This version goes on with the states that earlier versions have written."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from tests.upgrades.__main__ import BEFORE, STATES, UNDER_WAY
from tests.upgrades.kept_host import KeptHost
from tests.upgrades.queries import QUERIES, SECOND, started

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from latecomer.hosts.local import Step
    from latecomer.plan import Plan

VERSIONS = sorted(path.name for path in STATES.iterdir())


def run(host: KeptHost, batches: list[tuple[pa.Table, ...]], first: int) -> list[Any]:
    """Return what comes out of each micro-batch, and at the end."""
    steps = [host.step(*each, now=(first + at) * SECOND) for at, each in enumerate(batches)]
    return [told(step) for step in (*steps, host.finish())]


def told(step: Step) -> tuple[Any, ...]:
    lates = [Counter(map(str, late.to_pylist())) for late in step.lates]
    return step.watermark, step.ready.to_pylist(), lates, step.dropped, step.recall.to_pylist()


def restarted(plan: Plan, batches: list[tuple[pa.Table, ...]], path: Path) -> list[Any]:
    host = KeptHost(plan, *(table.schema for table in batches[0]), path=path)
    return run(host, batches[BEFORE:], BEFORE)


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_goes_on_as_if_it_had_not_been_upgraded(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    plan, batches = started(spark, name)
    host = KeptHost(plan, *(table.schema for table in batches[0]))
    for number, tables in enumerate(batches[:BEFORE]):
        host.step(*tables, now=number * SECOND)
    host.write(tmp_path / "now.zip")
    expected = restarted(plan, batches, tmp_path / "now.zip")

    assert expected == run(host, batches[BEFORE:], BEFORE)
    assert any(ready for _, ready, *_ in expected)
    for version in VERSIONS:
        found = restarted(plan, batches, STATES / version / f"{name}.zip")
        assert found == expected, f"{version}: run python -m tests.upgrades if it is under way"


def test_there_is_a_state_of_every_query_and_they_are_small() -> None:
    kept = {path.stem for path in (STATES / UNDER_WAY).iterdir()}

    assert kept == {*QUERIES}
    assert sum(path.stat().st_size for path in STATES.rglob("*.zip")) < 1_000_000
