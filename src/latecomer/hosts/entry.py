"""Set aside the rows whose time cannot be used, before anything looks at the clock.

A row without a time has no place in any order. A row far ahead of its arrival has a wrong clock
behind it, and if it moved `newest`, everybody else would be late.
"""

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, concat
from latecomer.hosts.late import AHEAD, NO_TIME, late_schema, refuse, unusable
from latecomer.plan import Plan
from latecomer.time import FOREVER, Times


def admit(plan: Plan, rows: Batch, arrived: Times | None = None) -> tuple[Batch, Batch]:
    """Split rows into those with a usable time and, as late rows, those without.

    Args:
        plan: What the stream asks for.
        rows: Rows as they came.
        arrived: When each row reached us; needed where the plan bounds how far ahead a row may be.
    """
    source = plan.source
    aside = []
    no_time = source.time.is_null(rows)
    if no_time.any():
        aside.append(unusable(rows.filter(pa.array(no_time)), NO_TIME))
        rows = rows.filter(pa.array(~no_time))
    if source.ahead is not None and arrived is not None:
        # The sum of an arrival and a very long span must not wrap around.
        limit = np.minimum(arrived[~no_time], FOREVER - source.ahead) + source.ahead
        is_ahead = source.time.micros(rows) > limit
        if is_ahead.any():
            aside.append(unusable(rows.filter(pa.array(is_ahead)), AHEAD))
            rows = rows.filter(pa.array(~is_ahead))
    late = concat(aside, late_schema(rows.schema))
    if plan.late == "raise":
        refuse(late, source.time)
    return rows, late
