"""One driver at a time owns a checkpoint.

Each `start` takes the next *epoch* and writes it down beside the checkpoint. A driver that finds a
higher epoch than its own has been replaced, and stops before it writes anything more.

    epoch 1    started, killed
    epoch 2    started, paused by the machine for an hour
    epoch 3    started; epoch 2 wakes up, finds epoch 3, and stops

A driver may be paused after the check and still write later. So everything that a driver writes
carries its epoch, and readers take what the highest one wrote (`outputs`). Without a lock, two
drivers that start at the same moment may take the same epoch; then the name of the run decides
(`rank`).

On a local file system the owner also holds a lock, which the operating system releases when the
process ends, however it ends. There a second driver is refused while the first one runs. On other
file systems the second driver takes over and the first one stops.
"""

import fcntl
import os
import socket
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from latecomer.errors import OwnerError
from latecomer.hosts.spark.durable.ledger import Ledger, Places, local_path

_EVERY = 10.0
"""Seconds between two checks of the owners, if each check is a Spark job."""
_held: dict[str, tuple[int, StreamingQuery | None]] = {}
"""The locks of this process: file and query, by checkpoint."""


@dataclass(slots=True)
class Owner:
    """A driver that owns a checkpoint."""

    checkpoint: str
    id: str
    """Name of the checkpoint in its outputs: a path may be used again, an id is not."""
    epoch: int
    attempt: str
    """Name of this run in everything that it writes."""
    places: Places = field(default_factory=dict)
    """Directories of records that were found before; see `Ledger`."""
    _looked: float = 0.0

    @property
    def rank(self) -> tuple[int, str]:
        """Position of this run in the order of all runs; later runs have larger ones."""
        return rank(self.attempt)

    def check(self, spark: SparkSession, *, at_once: bool = False) -> None:
        """Raise an error if another driver has taken over.

        With `at_once`, check even if that is a Spark job and the last check was a moment ago.

        Raises:
            OwnerError: Another driver has taken over.
        """
        ledger = Ledger(spark, _directory(self.checkpoint), self.places)
        if not (at_once or ledger.local is not None) and time.monotonic() - self._looked < _EVERY:
            return
        self._looked = time.monotonic()
        newest = _epochs(ledger)[-1]
        if rank(newest["attempt"]) > self.rank:
            raise OwnerError(
                f'the checkpoint "{self.checkpoint}" now belongs to {_who(newest)}; this driver '
                "has stopped and wrote nothing since.\n"
                "Hint: run a query on one driver only; this one can be ended."
            )


def claim(spark: SparkSession, checkpoint: str) -> Owner:
    """Become the owner of a checkpoint.

    Raises:
        OwnerError: Another process on this machine runs a query on the checkpoint.
    """
    ledger = Ledger(spark, _directory(checkpoint))
    if (path := local_path(spark, _directory(checkpoint))) is not None:
        _lock(path, checkpoint, ledger)
    epochs = _epochs(ledger)
    last = epochs[-1] if epochs else None
    epoch = 1 if last is None else int(last["epoch"]) + 1
    owner = Owner(
        checkpoint,
        min((record["id"] for record in epochs), default=uuid.uuid4().hex),
        epoch,
        f"r{epoch}-{uuid.uuid4().hex[:8]}",
    )
    ledger.add(
        f"owner-{owner.attempt}",
        {
            "id": owner.id,
            "epoch": epoch,
            "attempt": owner.attempt,
            "host": socket.gethostname(),
            "process": os.getpid(),
            "since": time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime()),
        },
    )
    return owner


def rank(attempt: str) -> tuple[int, str]:
    """Return the position of a run in the order of all runs, given its name."""
    return int(attempt.partition("-")[0].removeprefix("r")), attempt


def known_ids(spark: SparkSession, checkpoint: str) -> set[str]:
    """Return the ids of a checkpoint in its outputs.

    There is one id, or none before the first owner. There are several if several drivers began at
    the same time without a lock.
    """
    return {str(record["id"]) for record in _epochs(Ledger(spark, _directory(checkpoint)))}


def release_with(query: StreamingQuery, checkpoint: str) -> None:
    """Release the lock of a checkpoint when the query ends."""
    if checkpoint in _held:
        _held[checkpoint] = (_held[checkpoint][0], query)
        Thread(target=_watch, args=(query, checkpoint), daemon=True).start()


@contextmanager
def released_on_error(checkpoint: str) -> Iterator[None]:
    """Release the lock of a checkpoint if the query cannot be started or ended."""
    try:
        yield
    except BaseException:
        release(checkpoint)
        raise


def release(checkpoint: str) -> None:
    """Release the lock of a checkpoint."""
    if checkpoint in _held:
        os.close(_held.pop(checkpoint)[0])


def _watch(query: StreamingQuery, checkpoint: str) -> None:
    # Polling leaves no call open that would log an error when the process ends.
    while _is_active(query):
        time.sleep(0.5)
    if _held.get(checkpoint, (0, None))[1] is query:
        release(checkpoint)


def _is_active(query: StreamingQuery) -> bool:
    try:
        return query.isActive
    except Exception:  # noqa: BLE001 - whatever happens, a session that is gone runs no query
        return False


def _epochs(ledger: Ledger) -> list[dict[str, Any]]:
    """Read the records of all owners, the newest last."""
    return sorted(ledger.read(), key=lambda record: rank(record["attempt"]))


def _lock(directory: Path, checkpoint: str, ledger: Ledger) -> None:
    if checkpoint in _held:
        # Spark itself stops the earlier run in this process before it starts another.
        release(checkpoint)
    directory.mkdir(parents=True, exist_ok=True)
    file = os.open(directory / ".lock", os.O_CREAT | os.O_RDWR, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(file)
        epochs = _epochs(ledger)
        owner = _who(epochs[-1]) if epochs else "another process"
        raise OwnerError(
            f'the checkpoint "{checkpoint}" is in use by {owner}.\n'
            "Hint: stop that query first, or use a checkpoint of your own."
        ) from error
    _held[checkpoint] = (file, None)


def _who(record: dict[str, object]) -> str:
    return f"process {record['process']} on {record['host']}, since {record['since']}"


def _directory(checkpoint: str) -> str:
    return f"{checkpoint}/latecomer/owners"
