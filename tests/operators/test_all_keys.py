"""Operators that serve all keys; for their results see tests/hosts/test_keyed_chain.py."""

import pyarrow as pa

from latecomer.hosts.local import MemoryChunks
from latecomer.operators.aggregates.summary import SLOT
from latecomer.operators.all_keys import EachWait, Served, Unslotted, for_all_keys
from latecomer.operators.distinct import Distinct
from latecomer.operators.levels import Levels
from latecomer.operators.sort import Sort
from latecomer.operators.temporal.conditions import Condition
from latecomer.operators.temporal.rowwise import Keep
from latecomer.time import TimeColumn

TIME = TimeColumn("time", "us")
KEY = ("key",)
DISTINCT = Distinct(TIME, KEY, 5, KEY)
KEEP = Keep(Condition(lambda row: row.time > 3))
SLOTTED = DISTINCT.with_slot(KEY)


def test_rows_have_a_slot_up_to_the_last_operator_that_needs_it() -> None:
    first, then = Levels(TIME, (0, 5)), (KEEP, DISTINCT)

    assert for_all_keys((Sort(TIME), KEEP), KEY) == Served((Sort(TIME), KEEP))
    assert for_all_keys((first, KEEP), KEY) == Served((first, KEEP))
    assert for_all_keys((Sort(TIME), *then, KEEP), KEY) == Served(
        (Sort(TIME), KEEP, SLOTTED, Unslotted(), KEEP), is_slotted=True
    )
    assert for_all_keys((Levels(TIME, (0, 5), then, ("soon", "later")), KEEP), KEY) == Served(
        (EachWait(TIME, (0, 5)), KEEP, SLOTTED, Unslotted(("soon", "later")), KEEP),
        leads=[5, 0],
        is_slotted=True,
        sharing=3,
    )


def test_a_slot_of_a_key_and_a_wait_becomes_the_name_of_the_wait() -> None:
    rows = pa.table({"id": [1, 2, 3, 4], SLOT: [3, 2, 0, 1]})

    plain, waits = Unslotted(), Unslotted(("soon", "later"))
    found = waits.start(rows.schema, MemoryChunks()).push(rows).ready

    assert plain.of_rows(rows).to_pydict() == {"id": [1, 2, 3, 4]}
    assert found.schema == waits.output_schema(rows.schema)
    assert found.to_pydict() == {
        "id": [2, 3, 1, 4],
        "wait": ["soon", "soon", "later", "later"],
        "is_final": [False, False, True, True],
    }
