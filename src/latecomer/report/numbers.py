"""A profile in a form that JSON can hold, for programs; durations are in seconds."""

from __future__ import annotations

from dataclasses import asdict
from math import isfinite
from typing import TYPE_CHECKING, Any

from latecomer.report.words import ASKED, headline, waits
from latecomer.time import SECOND

if TYPE_CHECKING:
    from latecomer.api.profile import Profile

KEYS_TOLD = 100
"""Number of worst keys that are listed."""


def as_dict(profile: Profile) -> dict[str, Any]:
    """Return a profile as a dict that JSON can hold."""
    found = profile.counted.findings
    keys = profile.keys
    return {
        "summary": headline(profile),
        "order_of_arrival": profile.order,
        "rows": profile.rows,
        "without_time": profile.without_time,
        "without_arrival": profile.without_arrival,
        "out_of_order": profile.out_of_order,
        "fraction": profile.fraction,
        "largest_seconds": found.delays.largest / SECOND,
        "relative_error_of_waits": profile.error,
        "waits": [
            {
                "wait_seconds": wait.micros / SECOND,
                "wait": wait.text,
                "in_time": wait.in_time,
                "share": wait.share,
                "late": wait.late,
                "held": wait.held,
            }
            for wait in waits(profile)
        ],
        "wait_for_seconds": {
            f"{share:g}": found.delays.wait_for(share) / SECOND for share in ASKED
        },
        "runs": profile.runs,
        "measures": asdict(profile.measures) if profile.measures else None,
        "keys": None
        if keys is None
        else {
            "count": keys.num_rows,
            "worst": [
                {
                    "key": [_plain(row[name]) for name in profile.source.key],
                    "rows": row["rows"],
                    "out_of_order": row["out_of_order"],
                    "largest_seconds": row["largest"] / SECOND,
                }
                for row in keys.slice(0, KEYS_TOLD).to_pylist()
            ],
        },
    }


def _plain(value: object) -> object:
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    return value if isinstance(value, str | int | float | None) else str(value)
