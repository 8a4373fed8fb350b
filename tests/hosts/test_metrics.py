from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from latecomer.errors import MissingPackageError
from latecomer.hosts.metrics import METRICS, PREFIX, Collector
from latecomer.hosts.status import RecallStatus, Rows, Status, WaitStatus
from latecomer.live import endpoint

if TYPE_CHECKING:
    from collections.abc import Iterable

STATUS = Status(
    query="sales",
    id="1",
    run="2",
    is_active=True,
    exact=True,
    batch=12,
    since_batch=0,
    watermark=60_000,
    newest=70_000,
    behind_newest_ms=10_000,
    behind_wall_ms=20_000,
    rows=Rows(100, 90, 4, {"late": 5, "ahead": 1}, 0),
    held_bytes=5_000,
    open_windows=7,
    waits=[WaitStatus("10 seconds", 10_000, 30, 4, 0.9)],
    recalls=[RecallStatus(0.99, 0.995, 12_000)],
    backlog=3.0,
    batch_ms=900,
    rows_per_second=55.5,
    delays=[(0, 90), (1_000, 9), (None, 1)],
)


def text(*statuses: Status) -> str:
    registry = CollectorRegistry()

    def known() -> Iterable[Status]:
        return statuses

    registry.register(Collector(known))
    return generate_latest(registry).decode()


def test_all_values_of_a_status_are_exported_under_the_name_of_its_query() -> None:
    lines = text(STATUS).splitlines()

    for expected in (
        'latecomer_rows_total{output="in",query="sales",reason=""} 100.0',
        'latecomer_rows_total{output="late",query="sales",reason="ahead"} 1.0',
        'latecomer_held_rows{query="sales"} 4.0',
        'latecomer_watermark_behind_seconds{query="sales"} 10.0',
        'latecomer_wait_seconds{query="sales",wait="10 seconds"} 10.0',
        'latecomer_wait_seconds{query="sales",target="0.99"} 12.0',
        'latecomer_recall_ratio{query="sales",target="0.99"} 0.995',
        'latecomer_recall_target_ratio{query="sales",target="0.99"} 0.99',
        'latecomer_delay_seconds_bucket{le="1.0",query="sales"} 99.0',
        'latecomer_delay_seconds_bucket{le="+Inf",query="sales"} 100.0',
        'latecomer_batch_seconds{query="sales"} 0.9',
        'latecomer_active{query="sales"} 1.0',
    ):
        assert expected in lines
    told = {line.split()[2] for line in lines if line.startswith("# HELP")}
    assert told == {f"{PREFIX}{name}" for name in METRICS}


def test_the_live_views_read_them_back() -> None:
    (found,) = endpoint.statuses(endpoint.metrics(text(STATUS)))

    assert found["rows"]["late"] == {"late": 5, "ahead": 1}
    assert (found["rows"]["in"], found["rows"]["held"]) == (100, 4)
    assert (found["behind_newest_ms"], found["batch_ms"]) == (10_000, 900)
    assert found["delays"] == [[0.0, 90], [1_000.0, 9], [None, 1]]


def test_unknown_values_are_not_exported() -> None:
    assert "latecomer_backlog{" not in text(replace(STATUS, backlog=None))
    assert "delay_seconds_bucket{" not in text(replace(STATUS, delays=None))
    assert "{" not in text()


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)

    with pytest.raises(MissingPackageError, match=r'pip install "latecomer\[metrics\]"'):
        Collector(list)
