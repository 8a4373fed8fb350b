"""Set aside the rows whose time cannot be used, before anything looks at the clock.

A row without a time has no place in any order. A row far ahead of its arrival comes from a wrong
clock. If it moved `newest`, all other rows would be late.
"""

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, concat
from latecomer.hosts.late import AHEAD, EMPTY, NO_TIME, checked, late_schema, unusable
from latecomer.plan import Plan
from latecomer.time import FOREVER, Times


def admit(plan: Plan, rows: Batch, arrived: Times | None = None) -> tuple[Batch, Batch]:
    """Split rows into those with a usable time and, as late rows, those without.

    `arrived` is the arrival of each row, needed if the plan bounds how far ahead a row may be.
    """
    source = plan.source
    unfit = {NO_TIME: source.time.is_null(rows)}
    if source.end is not None or source.ahead is not None:
        times = source.time.micros(rows)
    if source.end is not None:
        # A lifetime must end after it begins.
        begins = times if source.begin is None else source.begin.micros(rows)
        unfit[EMPTY] = source.end.micros(rows, null=FOREVER) <= begins
    if source.ahead is not None and arrived is not None:
        # The sum of an arrival and a very long span must not wrap around.
        unfit[AHEAD] = times > np.minimum(arrived, FOREVER - source.ahead) + source.ahead
    aside = []
    is_fit = np.ones(rows.num_rows, np.bool_)
    for reason, mask in unfit.items():
        found = mask & is_fit
        if found.any():
            aside.append(unusable(rows.filter(pa.array(found)), reason))
            is_fit &= ~found
    rows = rows.filter(pa.array(is_fit)) if aside else rows
    return rows, checked(plan, concat(aside, late_schema(rows.schema)))
