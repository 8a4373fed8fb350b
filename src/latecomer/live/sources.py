"""Sources of statuses for queries that run in another process.

    http://127.0.0.1:9108/metrics    a Prometheus endpoint, such as that of `latecomer.listen`
    a checkpoint                     the totals of its last micro-batches
    an event log of Spark            the progress of each micro-batch

The kind of a target is detected. The `/status.json` of another live page can be read as well.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.error import URLError
from urllib.request import Request, urlopen

from latecomer.errors import OptionError
from latecomer.live import checkpoint, endpoint
from latecomer.live.event_log import EventLog

if TYPE_CHECKING:
    from latecomer.live.board import Source
    from latecomer.live.history import Status

_SECONDS = 10
_MOST_BYTES = 1 << 24


def source_of(targets: Sequence[str]) -> Source:
    """Return a source of the queries of all targets: endpoints, checkpoints and event logs.

    Raises:
        OptionError: A target is none of these.
    """
    sources = [_source(target) for target in targets]
    return lambda: [status for source in sources for status in source()]


def _source(target: str) -> Source:
    if target.startswith(("http://", "https://")):
        return lambda: _fetched(target)
    path = Path(target)
    if (path / "offsets").is_dir():
        return lambda: checkpoint.statuses(path)
    if path.is_file() or any(path.glob("events_*")) or any(path.glob("eventlog_v2_*")):
        return EventLog(path).statuses
    raise OptionError(
        f'"{target}" is neither an address, nor a checkpoint, nor an event log of Spark.\n'
        'Hint: pass "http://127.0.0.1:PORT/metrics", the checkpoint of a query that has begun, or '
        "a file or directory below spark.eventLog.dir."
    )


def _fetched(url: str) -> Iterable[Status]:
    # Only http and https come here.
    request = Request(url, headers={"Accept": "text/plain, application/json"})  # noqa: S310
    try:
        with urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310
            text = answer.read(_MOST_BYTES).decode("utf-8", "replace")
    except (URLError, TimeoutError) as error:
        reason = getattr(error, "reason", error)
        raise OptionError(f"{url} cannot be read: {reason}.") from error
    if text.startswith("["):
        return list(json.loads(text))
    found = endpoint.statuses(endpoint.metrics(text))
    if not found:
        raise OptionError(f"{url} has no metrics of Latecomer.")
    return found
