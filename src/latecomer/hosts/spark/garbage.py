"""Keep the objects of modules out of garbage collection in Spark's Python workers.

PySpark collects garbage after each task. The collector visits all objects of the modules that a
worker has imported. These are about a hundred thousand, and they live as long as the process. On
small micro-batches the collection took longer than the tasks themselves.
"""

from __future__ import annotations

import gc
import sys

_seen = 0
"""Number of modules when objects were last taken out."""


def spare_modules() -> None:
    """Take all existing objects out of garbage collection if modules were imported since."""
    global _seen  # noqa: PLW0603 - the modules belong to the process, and so does their number
    if len(sys.modules) != _seen:
        _seen = len(sys.modules)
        gc.freeze()
