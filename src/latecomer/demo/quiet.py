"""Keep PySpark's small talk off the screen, and nothing else.

For each query with state PySpark starts a helper process on the driver, and that process prints
five lines about itself and its function. Spark relays them to the stderr of its JVM, past all log
settings. So the JVM is started with a stderr that we read, and every line goes on to the real one
except those five, each with the blank line that follows it.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_STDERR = 2
_SMALL_TALK = b"Streaming TransformWithStateInPandas Python worker"


@contextmanager
def without_small_talk() -> Iterator[None]:
    """Filter, for as long as they live, the stderr of processes that are started inside."""
    reader, writer = os.pipe()
    stderr = os.dup(_STDERR)
    relay = Thread(target=_relay, args=(reader, os.dup(stderr)), daemon=True)
    relay.start()
    sys.stderr.flush()
    os.dup2(writer, _STDERR)
    os.close(writer)
    try:
        yield
    except BaseException:
        os.dup2(stderr, _STDERR)
        # What the JVM said before it died belongs above the error that is on its way.
        relay.join(timeout=1)
        raise
    finally:
        os.dup2(stderr, _STDERR)
        os.close(stderr)


def _relay(reader: int, stderr: int) -> None:
    """Pass lines on until every process that can write them has ended."""
    was_small_talk = False
    with os.fdopen(reader, "rb") as lines, os.fdopen(stderr, "wb", buffering=0) as out:
        for line in lines:
            follows = was_small_talk and not line.strip()
            was_small_talk = _SMALL_TALK in line
            if not was_small_talk and not follows:
                out.write(line)
