"""Statuses from a Prometheus endpoint, such as the one of `latecomer.listen`.

A metric is a line of text: a name, labels and a value.

    latecomer_rows_total{query="orders",output="late",reason="late"} 841.0
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from math import isinf
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from latecomer.live.history import Status

_OURS = "latecomer_"
_LINE = re.compile(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+-?\d+)?\s*")
_LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"')
_ESCAPES = {r"\\": "\\", r"\"": '"', r"\n": "\n"}


class Metric(NamedTuple):
    """One value of an endpoint."""

    name: str
    labels: dict[str, str]
    value: float


def metrics(text: str) -> Iterator[Metric]:
    """Yield the metrics in the text of an endpoint; other lines are skipped."""
    for line in text.splitlines():
        found = None if line.startswith("#") else _LINE.fullmatch(line)
        if found is None:
            continue
        name, labels, value = found.groups()
        try:
            number = float(value)
        except ValueError:
            continue
        told = {
            key: re.sub(r"\\.", lambda found: _ESCAPES.get(found[0], found[0]), text)
            for key, text in _LABEL.findall(labels or "")
        }
        yield Metric(name, told, number)


def statuses(found: Iterable[Metric]) -> list[Status]:
    """Return a status for each query, made from its metrics."""
    by_query: dict[str, list[Metric]] = {}
    for metric in found:
        if metric.name.startswith(_OURS) and "query" in metric.labels:
            by_query.setdefault(metric.labels["query"], []).append(metric)
    return [_status(query, some) for query, some in by_query.items()]


def _status(query: str, found: list[Metric]) -> Status:
    status: Status = {"query": query, "rows": {"late": {}}}
    waits: dict[str, dict[str, Any]] = {}
    recalls: dict[str, dict[str, Any]] = {}
    upto: dict[float | None, int] = {}
    for name, labels, value in found:
        what = name.removeprefix(_OURS)
        if what == "rows_total":
            _add_rows(status["rows"], labels, int(value))
        elif what == "held_rows":
            status["rows"]["held"] = int(value)
        elif what == "delay_seconds_bucket":
            bound = float(labels["le"])
            upto[None if isinf(bound) else 1_000 * bound] = int(value)
        elif what in _MILLIS:
            status[_MILLIS[what]] = round(1_000 * value)
        elif what in _PLAIN:
            status[what] = value
        elif what in _OF_WAITS and "wait" in labels:
            key, times = _OF_WAITS[what]
            waits.setdefault(labels["wait"], {"wait": labels["wait"]})[key] = times * value
        elif what in _OF_TARGETS:
            key, times = _OF_TARGETS[what]
            target = labels.get("target", "")
            each = recalls.setdefault(target, {"target": float(target) if target else None})
            each[key] = times * value
    status["waits"] = list(waits.values())
    status["recalls"] = list(recalls.values())
    status["delays"] = _apart(upto)
    return status


def _add_rows(rows: dict[str, Any], labels: dict[str, str], count: int) -> None:
    output = labels.get("output", "")
    if output == "late":
        rows["late"][labels.get("reason") or "late"] = count
    else:
        rows[output] = count


_OF_WAITS = {
    "wait_seconds": ("wait_ms", 1_000),
    "recall_ratio": ("recall", 1),
    "answers_total": ("answers", 1),
    "refined_total": ("refined", 1),
}
"""Metrics of each wait: their name in a status, and the factor to its unit."""
_OF_TARGETS = {"wait_seconds": ("wait_ms", 1_000), "recall_ratio": ("achieved", 1)}
_MILLIS = {
    "watermark_behind_seconds": "behind_newest_ms",
    "watermark_behind_wall_seconds": "behind_wall_ms",
    "watermark_seconds": "watermark",
    "newest_seconds": "newest",
    "batch_seconds": "batch_ms",
}
"""Metrics in seconds, with their name in a status, which has them in milliseconds."""
_PLAIN = {"batch", "held_bytes", "open_windows", "backlog", "rows_per_second"}
"""Metrics that a status has under the same name, in the same unit."""


def _apart(upto: dict[float | None, int]) -> list[list[float | int | None]]:
    """Return the rows between bounds, from the cumulative counts of a Prometheus histogram."""
    found: list[list[float | int | None]] = []
    before = 0
    for bound in sorted(upto, key=lambda bound: (bound is None, bound or 0)):
        found.append([bound, upto[bound] - before])
        before = upto[bound]
    return found
