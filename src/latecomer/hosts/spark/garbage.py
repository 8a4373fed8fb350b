"""Keep what modules hold out of garbage collection in Spark's Python workers.

PySpark collects garbage after each task. The modules of a worker hold 70,000 to 120,000 objects,
which live as long as the process; walking through them takes 25 to 40 ms of processor time in each
task, more than most of our tasks on a small micro-batch.
"""

from __future__ import annotations

import gc
import sys

_seen = 0
"""How many modules there were when they were last taken out."""


def spare_modules() -> None:
    """Take all objects that exist out of garbage collection, if modules were imported lately."""
    global _seen  # noqa: PLW0603 - the modules belong to the process, and so does their number
    if len(sys.modules) != _seen:
        _seen = len(sys.modules)
        gc.freeze()
