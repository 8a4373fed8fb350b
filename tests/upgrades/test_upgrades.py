"""This version continues from states that earlier versions have written."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

import latecomer as lc
from tests.upgrades.__main__ import BEFORE, STATES, UNDER_WAY
from tests.upgrades.checkpoints import CHECKPOINTS, KEPT, add_rows, comparable, unpack
from tests.upgrades.kept_host import KeptHost
from tests.upgrades.queries import QUERIES, SECOND, rows, started

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from latecomer.hosts.local import Step
    from latecomer.plan import Plan

VERSIONS = sorted(path.name for path in STATES.iterdir())


def run(host: KeptHost, batches: list[tuple[pa.Table, ...]], first: int) -> list[Any]:
    """Return the output of each micro-batch, and that at the end."""
    steps = [host.step(*each, now=(first + at) * SECOND) for at, each in enumerate(batches)]
    return [told(step) for step in (*steps, host.finish())]


def told(step: Step) -> tuple[Any, ...]:
    lates = [Counter(map(str, late.to_pylist())) for late in step.lates]
    return step.watermark, step.ready.to_pylist(), lates, step.dropped, step.recall.to_pylist()


def restarted(plan: Plan, batches: list[tuple[pa.Table, ...]], path: Path) -> list[Any]:
    host = KeptHost(plan, *(table.schema for table in batches[0]), path=path)
    return run(host, batches[BEFORE:], BEFORE)


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_continues_as_if_it_had_not_been_upgraded(
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


@pytest.mark.parametrize("name", KEPT)
def test_a_checkpoint_of_an_earlier_version_continues(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    for file in CHECKPOINTS.glob(f"*/{name}.zip"):
        directory = tmp_path / file.parent.name
        unpack(file, directory)
        before = KEPT[name].found(spark, directory)
        add_rows(directory, 1)

        KEPT[name].run(spark, directory, "flush")

        assert lc.read(spark, f"{directory}/late").count() == 0
        found = KEPT[name].found(spark, directory)
        assert found == comparable(KEPT[name].expected(rows())), file
        assert len(before) < len(found)


def test_there_is_a_state_of_every_query_and_they_are_small() -> None:
    kept = {path.stem for path in (STATES / UNDER_WAY).iterdir()}

    assert kept == {*QUERIES}
    assert {path.stem for path in (CHECKPOINTS / UNDER_WAY).iterdir()} == {*KEPT}
    files = [*STATES.rglob("*.zip"), *CHECKPOINTS.rglob("*.zip")]
    assert sum(path.stat().st_size for path in files) < 1_000_000
