"""Metrics of queries for Prometheus: stable names, labelled by the name of the query.

They are computed from statuses whenever they are collected. `METRICS` describes all of them;
docs/operate.md has the same list, `ops/` a dashboard and rules for alerts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from latecomer.errors import MissingPackageError

if TYPE_CHECKING:
    from latecomer.hosts.status import Status

    Sample = tuple[dict[str, str], float | None]

METRICS = {
    "rows_total": "Rows by output (in, ready, late, dropped), late ones by reason.",
    "answers_total": "Result rows of each wait.",
    "refined_total": "Result rows that differ from the answer of the wait before.",
    "held_rows": "Rows that are held now.",
    "held_bytes": "Bytes of state on disk, at the last snapshot.",
    "open_windows": "States of windows that are held now, one for each window and key.",
    "watermark_seconds": "The watermark, in seconds since 1970.",
    "newest_seconds": "The largest time seen, in seconds since 1970.",
    "watermark_behind_seconds": "How far the watermark is behind the newest row.",
    "watermark_behind_wall_seconds": "How far it is behind the wall clock; negative if ahead.",
    "wait_seconds": "How long is waited: by wait, or now by the recall that was asked for.",
    "recall_ratio": "Share of rows or results in time, by wait or by the recall asked for.",
    "recall_target_ratio": "The recall that was asked for.",
    "backlog": "The largest backlog of a source, in its own unit.",
    "batch": "Number of the last micro-batch.",
    "batch_seconds": "Duration of the last micro-batch.",
    "rows_per_second": "Rows per second in the last micro-batch.",
    "active": "1 while the query runs, 0 after it has stopped.",
    "delay_seconds": "Rows by how far they were behind the newest row of all before.",
}
"""Descriptions of all exported metrics, by name without the prefix."""
PREFIX = "latecomer_"
HISTOGRAM = "delay_seconds"


class Collector:
    """A collector for a Prometheus registry: metrics of the statuses that a function returns."""

    def __init__(self, statuses: Callable[[], Iterable[Status]]) -> None:
        try:
            from prometheus_client import core
        except ImportError as error:
            raise MissingPackageError(
                "metrics need the package prometheus-client, which is not installed.\n"
                'Hint: pip install "latecomer[metrics]".'
            ) from error
        self._core: Any = core
        self._statuses = statuses

    def collect(self) -> Iterator[Any]:
        """Yield all metrics."""
        found = list(self._statuses())
        samples = [(each.query, _samples(each)) for each in found]
        for name, text in METRICS.items():
            if name == HISTOGRAM:
                yield self._histogram(found, text)
                continue
            is_counter = name.endswith("_total")
            kind = self._core.CounterMetricFamily if is_counter else self._core.GaugeMetricFamily
            family = kind(PREFIX + name, text)
            for query, by_name in samples:
                for labels, value in by_name[name]:
                    if value is not None:
                        family.add_sample(PREFIX + name, {"query": query, **labels}, value)
            yield family

    def _histogram(self, found: list[Status], text: str) -> Any:  # noqa: ANN401
        name = PREFIX + HISTOGRAM
        family = self._core.HistogramMetricFamily(name, text)
        for each in found:
            total = 0
            for bound, rows in each.delays or ():
                total += rows
                edge = "+Inf" if bound is None else str(bound / 1_000)
                family.add_sample(f"{name}_bucket", {"query": each.query, "le": edge}, total)
            if each.delays:
                family.add_sample(f"{name}_count", {"query": each.query}, total)
        return family


def _samples(status: Status) -> dict[str, list[Sample]]:
    """Return the values of all metrics, with the labels that they have besides the query."""
    waits = [({"wait": each.wait}, each) for each in status.waits]
    targets = [
        ({"target": "" if each.target is None else str(each.target)}, each)
        for each in status.recalls
    ]
    watermark = _seconds(status.watermark)
    single: dict[str, float | None] = {
        "held_rows": status.rows.held,
        "held_bytes": status.held_bytes,
        "open_windows": status.open_windows,
        "watermark_seconds": watermark,
        "newest_seconds": _seconds(status.newest),
        "watermark_behind_seconds": _seconds(status.behind_newest_ms),
        # Computed at collection, so that it also grows between two micro-batches.
        "watermark_behind_wall_seconds": None if watermark is None else time.time() - watermark,
        "backlog": status.backlog,
        "batch": status.batch,
        "batch_seconds": _seconds(status.batch_ms),
        "rows_per_second": status.rows_per_second,
        "active": float(status.is_active),
    }
    found: dict[str, list[Sample]] = {name: [({}, value)] for name, value in single.items()}
    return found | {
        "rows_total": _rows(status),
        "answers_total": [(labels, each.answers) for labels, each in waits],
        "refined_total": [(labels, each.refined) for labels, each in waits],
        "wait_seconds": [
            *((labels, _seconds(each.wait_ms)) for labels, each in waits),
            *((labels, _seconds(each.wait_ms)) for labels, each in targets),
        ],
        "recall_ratio": [
            *((labels, each.recall) for labels, each in waits),
            *((labels, each.achieved) for labels, each in targets),
        ],
        "recall_target_ratio": [(labels, each.target) for labels, each in targets],
    }


def _rows(status: Status) -> list[Sample]:
    rows = status.rows
    counts = {"in": rows.read, "ready": rows.ready, "dropped": rows.dropped}
    # Prometheus misses the first increase of a counter that did not exist before.
    late = {"late": 0, **rows.late}
    return [
        *(({"output": name, "reason": ""}, count) for name, count in counts.items()),
        *(({"output": "late", "reason": reason}, count) for reason, count in late.items()),
    ]


def _seconds(millis: int | None) -> float | None:
    return None if millis is None else millis / 1_000
