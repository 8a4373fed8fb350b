"""Run several Spark jobs at the same time.

A small job leaves cores idle: Spark plans it on one of them, and it may have one task. So the
outputs of a micro-batch are written at the same time.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pyspark import InheritableThread

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def together(actions: Sequence[Callable[[], object]]) -> None:
    """Run all actions, the first one in this thread, and return when all of them have ended.

    Their jobs belong to the query that runs in this thread, and end if it is stopped. If actions
    fail, the error of the first of them is raised.
    """
    if not actions:
        return
    errors: dict[int, BaseException] = {}

    def run(number: int) -> None:
        try:
            actions[number]()
        except BaseException as error:  # noqa: BLE001 - it is raised in the calling thread
            errors[number] = error

    threads = [InheritableThread(partial(run, number)) for number in range(1, len(actions))]
    for thread in threads:
        thread.start()
    run(0)
    for thread in threads:
        thread.join()
    if errors:
        raise errors[min(errors)]
