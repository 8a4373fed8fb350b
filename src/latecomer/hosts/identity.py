"""What of a query must not change during the life of a checkpoint, and whether it has.

It is a dictionary that is written as JSON, into the state of each bucket and into the record of the
whole query. Of functions without a version only the code is known, and that can be compared within
one version of Python; where it cannot, the query goes on with a warning.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from latecomer import labels
from latecomer.errors import IdentityWarning

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from latecomer.plan import Plan


def identity(plan: Plan, at: int) -> dict[str, Any]:
    """Return what of a stage must not change during the life of a checkpoint."""
    return {
        "label format": labels.FORMAT,
        "operators": plan.stages[at].labels,
        "time": [plan.source.time.name, plan.source.time.unit],
        "key": list(plan.stages[at].key),
        "before_1970": any(each.source.before_1970 for each in plan.inputs),
        **plan.clock.identity,
    }


def state_identity(plan: Plan, at: int) -> dict[str, Any]:
    """Return what of a stage must not change during the life of its state.

    The record of a query describes each stream that meets this one by itself; a state has to know
    of their waits.
    """
    others = [each.clock.identity.get("wait") for each in plan.stages[at].rights]
    return identity(plan, at) | ({"waits of other streams": others} if others else {})


def changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Find what has changed: its name, what it was, and what it is now.

    What an older release did not write down is not compared.

    Warns:
        IdentityWarning: It cannot be known whether a function has changed.
    """
    for name, was in before.items():
        is_now = now.get(name)
        if was == is_now:
            continue
        if name == "operators" and was and is_now and len(was) == len(is_now):
            found = {*map(labels.compared, was, is_now)}
            if "changed" not in found:
                warnings.warn(
                    "the checkpoint was written by another version of Python, or its functions "
                    "had no version=: it cannot be known whether they are still the same.\n"
                    f"was: {', '.join(was)}\nnow: {', '.join(is_now)}\n"
                    "Hint: name the version of each function, with latecomer.versioned.",
                    IdentityWarning,
                    stacklevel=2,
                )
                continue
        yield name, was, is_now
