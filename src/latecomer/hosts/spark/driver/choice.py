"""Where the states of windows are kept, unless the user says so: `states="auto"`.

The driver keeps them wherever Spark can add up the rows of a micro-batch by itself
(`partials.computable`): then no row goes to Python, and there is no state store. Everything else is
kept in buckets, and so is a stream that was given a number of buckets. A checkpoint stays with the
choice with which it began.

Windows that are short against the wait are kept in buckets too, if they are grouped by key. Where
each key has more than `MANY` of them open, a thousand keys would be too many for the driver, and
buckets process so many states faster (`benchmarks.waits --window '1 second'`).

How many keys a stream has cannot be known before it runs. So the driver keeps at most `MOST` states
that it has chosen to keep, and stops before a micro-batch would leave more. Nothing is lost: that
micro-batch was not committed. The error says how to go on.
"""

from typing import Literal

from pyspark.sql import DataFrame
from pyspark.sql.utils import is_remote

from latecomer.errors import HeldLimitError, OptionError
from latecomer.hosts.spark.driver.partials import computable
from latecomer.hosts.spark.driver.state_files import StateFiles
from latecomer.hosts.spark.durable import record
from latecomer.hosts.spark.durable.ledger import qualified
from latecomer.plan import Plan

MOST = 1_000_000
"""States that the driver keeps at most by `states="auto"`: some hundred megabytes."""

MANY = 1_000
"""Open windows of a key up to which `states="auto"` keeps them on the driver."""

States = Literal["buckets", "driver"]


def chosen(df: DataFrame, plan: Plan, buckets: int | None, checkpoint: str) -> States:
    """Return where the states of a query are kept: as its checkpoint says, or as its plan allows.

    Args:
        df: The rows of the stream.
        plan: The plan of the query.
        buckets: The number of buckets that the user has given; None if there is none.
        checkpoint: The checkpoint of the query.
    """
    spark = df.sparkSession
    if (known := record.states(spark, checkpoint)) is not None:
        return "driver" if known == "driver" else "buckets"
    # On Spark Connect the states would be kept in a process that users do not see.
    if buckets is not None or is_remote():
        return "buckets"
    try:
        spec = computable(df, plan)
        StateFiles(qualified(spark, checkpoint))
    except OptionError:
        return "buckets"
    open_windows = (spec.levels[-1] + spec.windows.size) // spec.windows.width
    return "buckets" if spec.first.keys and open_windows > MANY else "driver"


def check_few(states: int, plan: Plan, checkpoint: str) -> None:
    """Refuse more states than the driver has chosen to keep.

    Raises:
        HeldLimitError: There are more.
    """
    if states <= MOST:
        return
    can_move = plan.first is not None and plan.first.portable is not None
    move = (
        f'then move the states to buckets with migrate("{checkpoint}", NEW), and start() with the '
        "checkpoint NEW and new outputs"
        if can_move
        else 'or begin anew with another checkpoint and states="buckets", which has no such limit'
    )
    first = (
        'let start(states="driver", trigger={"availableNow": True}) finish this micro-batch, '
        if can_move
        else 'go on with start(states="driver"), if the driver has the memory for more, '
    )
    raise HeldLimitError(
        f"the query holds {states:,} states of windows on the driver, and without states= at most "
        f"{MOST:,} are kept there; the last micro-batch was not committed, and nothing is lost.\n"
        f"Hint: {first}{move}."
    )
