"""Advice while a query runs: when many rows are late, say once what changed and what would help.

    WARNING latecomer: query "sales": 4.2 % of the rows of the last hour were late (0.1 % before).
    A wait of 2 minutes would have kept 99 % of them.

The warning is logged when the share of late rows in the last hour exceeds `THRESHOLD`, and again
only after it has fallen below half of that. Only rows behind the watermark count: no wait helps
those without a usable time. The logger is "latecomer", which is silent unless the program
configures `logging`. The record carries the same facts as `record.latecomer`, a dictionary.
"""

import logging
from collections import Counter, deque
from collections.abc import Mapping

from latecomer.hosts.tally import DELAYS, READ, REASONS, delays, late_by_reason, wait_for
from latecomer.operators.base import LATE
from latecomer.time import format_duration

THRESHOLD = 0.01
"""Share of late rows, dropped ones included, above which advice is given."""
KEPT = 1 - THRESHOLD
"""Share that the advised wait keeps. Above the threshold, it is longer than the present one."""
_KEPT = f"{100 * KEPT:.0f} %"
HOUR = 3_600.0
_USED = (READ, LATE, "dropped", *REASONS, *DELAYS)

logger = logging.getLogger("latecomer")
logger.addHandler(logging.NullHandler())


class Advice:
    """Advice for one query. It remembers the tallies of the last hour, and their sum."""

    def __init__(self, query: str) -> None:
        self._query = query
        self._recent: deque[tuple[float, dict[str, int]]] = deque()
        self._sum: Counter[str] = Counter()
        self._before = 0.0
        self._is_said = False

    def heard(self, now: float, tally: Mapping[str, int]) -> None:
        """Add the tally of a micro-batch, and warn if the share of late rows is now too large."""
        used = {name: count for name in _USED if (count := tally.get(name))}
        self._recent.append((now, used))
        self._sum.update(used)
        while self._recent[0][0] < now - HOUR:
            self._sum.subtract(self._recent.popleft()[1])
        if not self._sum[READ]:
            return
        late = late_by_reason(self._sum).get(LATE, 0) + self._sum["dropped"]
        share = late / self._sum[READ]
        if share > THRESHOLD and not self._is_said:
            self._say(share)
            self._is_said = True
        elif share < THRESHOLD / 2:
            self._is_said = False
        if not self._is_said:
            self._before = share

    def _say(self, share: float) -> None:
        counted = delays(+self._sum)
        wait = None if counted is None else wait_for(KEPT, counted)
        if counted is None:
            told = "Its delays are not counted."
        elif wait is None:
            told = f"Even a wait of a week would not have kept {_KEPT} of them."
        else:
            told = f"A wait of {format_duration(wait * 1_000)} would have kept {_KEPT} of them."
        logger.warning(
            'query "%s": %.1f %% of the rows of the last hour were late (%.1f %% before). %s',
            self._query,
            100 * share,
            100 * self._before,
            told,
            extra={
                "latecomer": {
                    "query": self._query,
                    "late_share": share,
                    "late_share_before": self._before,
                    "rows": self._sum[READ],
                    "wait_ms": wait,
                    "kept": KEPT,
                }
            },
        )
