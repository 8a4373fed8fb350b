"""Start a stage: the one place that says how it is run.

disordered streams, joined                                   GatheredStage
one clock for all                                            RunningStage
a clock for each key    a sort, or an aggregate by window    TogetherStage
all else                             ClockedStage
a wait that follows from a recall                            AdaptingStage
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import pyarrow as pa

from latecomer.hosts.adapting import AdaptingStage
from latecomer.hosts.clocked import ClockedStage
from latecomer.hosts.gathered import GatheredStage
from latecomer.hosts.stage import RunningStage
from latecomer.hosts.together import TogetherStage, goes_together
from latecomer.operators.base import Chunks
from latecomer.plan.plan import Plan

AnyStage: TypeAlias = RunningStage | ClockedStage | TogetherStage | AdaptingStage | GatheredStage


def started(
    plan: Plan,
    at: int,
    schema: pa.Schema | None,
    chunks: Callable[[int], Sequence[Chunks]],
    saved: bytes | None = None,
) -> AnyStage:
    """Start a stage of a plan, from nothing or where `saved` left off.

    Args:
        plan: What the stream asks for.
        at: Which of its stages this is.
        schema: The columns of the rows, if any have come.
        chunks: Makes the chunks of all operators; for each key its own, given its number.
        saved: What the stage saved.
    """
    if (gathering := plan.stages[at].gathering) is not None:
        return GatheredStage(plan, gathering, chunks(0)[0], saved)
    if plan.recalls:
        return AdaptingStage(plan, schema, chunks, saved)
    if not plan.source.clock:
        return RunningStage(plan, at, schema, chunks(0), saved)
    if goes_together(plan):
        return TogetherStage(plan, schema, chunks(0)[0], saved)
    return ClockedStage(plan, schema, chunks, saved)
