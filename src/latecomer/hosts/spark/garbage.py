"""Keep what modules hold out of garbage collection in Spark's Python workers.

PySpark collects garbage after each task. That walks through all objects of the modules that a
worker has imported, of which there are about a hundred thousand, and which live as long as the
process. On small micro-batches it took longer than the tasks themselves.
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
