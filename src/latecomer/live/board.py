"""The queries that are watched, each with its history.

A source is a function that returns the status of every query it knows. A board calls it at regular
intervals, in a thread, and keeps the results. A source that knows the past returns several statuses
of a query, each with its time (`at_ms`). If a source fails, its error is shown, the statuses known
so far are kept, and the source is called again.
"""

import threading
import time
from collections.abc import Callable, Iterable

from latecomer.live.history import History, Status

Source = Callable[[], Iterable[Status]]
"""A function that returns the status of every query that it knows."""


def now() -> int:
    """Return the time in microseconds."""
    return time.time_ns() // 1_000


class Board:
    """Histories of queries by name, written by one thread and read by others."""

    def __init__(self, source: Source, clock: Callable[[], int] = now) -> None:
        """Begin without any history; `clock` returns the time in microseconds."""
        self._source = source
        self._clock = clock
        self._lock = threading.Lock()
        self._histories: dict[str, History] = {}
        self._trouble: str | None = None
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def ask(self) -> None:
        """Call the source once, and add its statuses to the histories."""
        try:
            found = list(self._source())
        except Exception as error:  # noqa: BLE001 - whatever it is, the next time may go well
            with self._lock:
                self._trouble = (str(error) or type(error).__name__).partition("\n")[0]
            return
        at = self._clock()
        with self._lock:
            self._trouble = None
            for status in found:
                history = self._histories.setdefault(name_of(status), History())
                history.add(status, int(status.get("at_ms", 0) * 1_000) or at)

    def start(self, every: float) -> None:
        """Call the source now, and then in a thread, with pauses of `every` seconds."""
        self.ask()

        def run() -> None:
            while not self._stopped.wait(every):
                self.ask()

        self._thread = threading.Thread(target=run, name="latecomer-board", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop calling the source, and wait until the thread has ended."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(timeout=10)

    @property
    def trouble(self) -> str | None:
        """Error of the last call to the source; None if it succeeded."""
        with self._lock:
            return self._trouble

    @property
    def names(self) -> list[str]:
        """The names of all queries seen so far."""
        with self._lock:
            return sorted(self._histories)

    def read(self, name: str) -> History | None:
        """Return a copy of the history of a query; None if the query is unknown."""
        with self._lock:
            found = self._histories.get(name)
            return found.copy() if found else None

    def statuses(self) -> list[Status]:
        """Return the last status of every query, in order of their names."""
        found = (self.read(name) for name in self.names)
        return [dict(history.last.status) for history in found if history]


def name_of(status: Status) -> str:
    """Return the name of a query, or its id if it has none."""
    return str(status.get("query") or status.get("id") or "query")
