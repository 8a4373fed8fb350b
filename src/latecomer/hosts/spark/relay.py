"""Events of Spark's JVM for a listener, each progress as one JSON text.

PySpark reads a progress field by field: several hundred round trips to Java for each micro-batch,
which take a tenth of a second (`python -m benchmarks.on_call`). Here it is one.

This is the one place that goes around PySpark's public API. Only a session with a JVM of its own
asks for it; on Spark Connect events are JSON already, and this module is not imported.
"""

import json
from typing import Any

from pyspark import SparkContext
from pyspark.sql.streaming import StreamingQueryListener
from pyspark.sql.streaming.listener import (
    JStreamingQueryListener,
    QueryProgressEvent,
    StreamingQueryProgress,
)


class Relay(JStreamingQueryListener):
    """Receives events from Java, and passes them on to a listener."""

    def onQueryProgress(self, jevent: Any) -> None:
        """Pass on a progress."""
        found = StreamingQueryProgress.fromJson(json.loads(jevent.progress().json()))
        self.pylistener.onQueryProgress(QueryProgressEvent(found))


def in_java(listener: StreamingQueryListener) -> Any:
    """Return the object in Java that PySpark registers for a listener."""
    jvm: Any = SparkContext._jvm  # noqa: SLF001 - as PySpark's own listeners do
    return jvm.PythonStreamingQueryListenerWrapper(Relay(listener))
