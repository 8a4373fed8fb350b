"""A running endpoint with the metrics of all queries of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from latecomer.errors import OptionError
from latecomer.hosts.metrics import Collector
from latecomer.hosts.spark.listener import Listener
from latecomer.hosts.status import Status

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Listening:
    """A running endpoint, as `latecomer.listen` returns it; it serves metrics until `stop`."""

    def __init__(self, spark: SparkSession, listener: Listener, server: Any) -> None:
        self._spark = spark
        self._listener = listener
        self._server: Any = server
        host, port = server.server_address[:2]
        self.address = f"http://{host}:{port}/metrics"
        """Address at which Prometheus finds the metrics."""

    def statuses(self) -> list[Status]:
        """Return the last status of each query."""
        return self._listener.statuses()

    def stop(self) -> None:
        """Remove the listener and close the endpoint."""
        self._spark.streams.removeListener(self._listener)
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def listen(spark: SparkSession, host: str, port: int) -> Listening:
    """Add a listener and start the endpoint; see `latecomer.listen`."""
    listener = Listener()
    collector = Collector(listener.statuses)
    from prometheus_client import CollectorRegistry, start_http_server

    registry = CollectorRegistry()
    registry.register(collector)
    try:
        server, _ = start_http_server(port, host, registry)
    except OSError as error:
        raise OptionError(
            f"metrics cannot be served at {host}:{port}: {error.strerror or error}.\n"
            "Hint: pass another port, for example lc.listen(spark, port=0) for a free one."
        ) from error
    spark.streams.addListener(listener)
    return Listening(spark, listener, server)
