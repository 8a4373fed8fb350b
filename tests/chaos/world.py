"""The world that drivers share: a disk, states, a clock, and the order of their effects.

Each driver has a thread of its own, but only one runs at a time. The schedule says how many effects
a driver may have before it is another's turn, so the seed alone determines the run.
"""

from __future__ import annotations

import errno
import fcntl
import threading
import time
import uuid
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from latecomer.hosts.spark import collected, columns, flush, parcels, query, sinks
from latecomer.hosts.spark import outputs as reading
from latecomer.hosts.spark.driver import query as driver_query
from latecomer.hosts.spark.driver import state_files
from latecomer.hosts.spark.durable import ledger, owner, totals
from latecomer.hosts.spark.upsert import files, local
from tests.chaos import substitutes
from tests.chaos.columns import FUNCTIONS
from tests.chaos.disk import FULL, TORN, Crash, Disk, DiskPath, Handler, Stopped, fake_os
from tests.chaos.frames import Frame
from tests.chaos.schedule import STOP

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator

FOREVER = 1 << 60
START = 1_700_000_000_000_000
"""The wall clock at the beginning, in microseconds."""


class Driver:
    """A process that runs a query, and its end."""

    def __init__(self, world: World, name: str, body: Callable[[], None]) -> None:
        self.world, self.name, self.body = world, name, body
        self.effects = 0
        self.budget = 0
        self.fates: dict[int, str] = {}
        """The effects at which it ends or finds the disk full, and which of these happens."""
        self.is_dead = self.is_done = self.is_full = self.is_stopped = False
        self.runs = 0
        """Number of its running queries."""
        world.drivers.append(self)
        self.error: BaseException | None = None
        self.locks: dict[str, Any] = {}
        self._go = threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def go(self, effects: int = FOREVER) -> None:
        """Let it run for this many effects, or to its end."""
        if not self.is_done:
            self.budget = effects
            self.world.current = self
            self._go.release()
            self.world.back.acquire()

    def kill(self) -> None:
        """End it at its current effect."""
        self.is_dead = True
        self.go()

    def pause(self) -> None:
        """Let other drivers continue, if its turn is over."""
        self.budget -= 1
        if self.budget == 0:
            self.world.back.release()
            self._go.acquire()
            if self.is_dead:
                raise Crash(self.name)

    def _run(self) -> None:
        self._go.acquire()
        try:
            if not self.is_dead:
                self.body()
        except Crash:
            self.is_dead = True
        except BaseException as error:  # noqa: BLE001 - how it ended is looked at later
            self.error = error
        self.is_done = True
        self.world.free(self)
        self.world.back.release()


class World:
    """What all drivers of a schedule share."""

    def __init__(self, rng: random.Random, *, is_local: bool) -> None:
        self.rng = rng
        self.is_local = is_local
        self.disk = Disk(self.effect)
        self.states: dict[tuple[str, int], dict[tuple[int, int], Any]] = {}
        self.workers: dict[bytes, Any] = {}
        self.now = START
        self.task = 0
        self.back = threading.Semaphore(0)
        self.current: Driver | None = None
        self.drivers: list[Driver] = []
        self.log: list[str] = []
        self.watch: Callable[[], None] = lambda: None
        self._locks: dict[str, Driver] = {}
        self._is_watching = False

    def effect(self, verb: str, what: str) -> str | None:
        """Announce a change; see `disk`."""
        driver = self.current
        if driver is None:
            return None
        if driver.is_dead:
            raise Crash(what)
        if verb != "sync":
            # A power cut may undo what a reader sees between a move and its sync, on any disk.
            self._look()
        driver.effects += 1
        self.log.append(f"{driver.name} {driver.effects}: {verb} {what}")
        fate = driver.fates.get(driver.effects)
        if fate == FULL:
            driver.is_full = True
        elif fate == STOP:
            self._stop(driver)
        elif fate is not None:
            driver.is_dead = True
            self.log.append(f"{driver.name}: {fate}")
            if fate == TORN and verb == "write":
                return TORN
            raise Crash(what)
        driver.pause()
        return FULL if driver.is_full and verb == "write" else None

    def _stop(self, driver: Driver) -> None:
        """Stop the query of a driver, if it runs one. The driver continues."""
        if driver.runs:
            driver.is_stopped = True
            self.log.append(f"{driver.name}: {STOP}")
            raise Stopped

    def _look(self) -> None:
        """Let a reader look at the outputs, without effects."""
        if not self._is_watching:
            driver, self.current = self.current, None
            self._is_watching = True
            try:
                self.watch()
            finally:
                self._is_watching, self.current = False, driver

    def loses_cache(self) -> bool:
        """Return True if persisted rows are lost, as when an executor dies."""
        return self.current is not None and self.rng.random() < 0.02

    def cuts(self, rows: int) -> list[int]:
        """Draw the places where the rows of a micro-batch are cut into partitions."""
        return sorted(self.rng.randint(0, rows) for _ in range(self.rng.choice([0, 1, 2])))

    def lock(self, path: str, how: int) -> None:
        """Lock a file for the driver whose turn it is."""
        assert how == fcntl.LOCK_EX | fcntl.LOCK_NB
        holder = self._locks.get(path)
        if holder is not None and holder is not self.current:
            raise BlockingIOError(errno.EWOULDBLOCK, "locked")
        assert self.current is not None
        self._locks[path] = self.current

    def unlock(self, path: str) -> None:
        """Release the lock of a file that is closed."""
        if self._locks.get(path) is self.current:
            self._locks.pop(path, None)

    def free(self, driver: Driver) -> None:
        """Release the locks of a process that has ended."""
        self._locks = {path: each for path, each in self._locks.items() if each is not driver}

    def end(self) -> None:
        """End all drivers."""
        for driver in self.drivers:
            driver.kill()

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Make Latecomer run in this world."""
        path = type("Path", (DiskPath,), {"disk": self.disk})
        fake = fake_os(self.disk, SimpleNamespace(release=self.unlock))
        uuids = SimpleNamespace(uuid4=lambda: uuid.UUID(int=self.rng.getrandbits(128), version=4))
        arrow = fs.PyFileSystem(Handler(self.disk))
        uri = SimpleNamespace(from_uri=lambda where: (arrow, where.replace("file:///", "/")))
        files_ = SimpleNamespace(
            FileSystem=uri,
            LocalFileSystem=fs.PyFileSystem if self.is_local else (),
            FileSelector=fs.FileSelector,
        )
        clock = SimpleNamespace(
            monotonic=lambda: float(len(self.log)),
            strftime=time.strftime,
            gmtime=time.gmtime,
        )
        substituted: list[tuple[Any, str, Any]] = [
            *(
                (module, "F", FUNCTIONS)
                for module in (columns, flush, query, reading, ledger, files)
            ),
            (query, "DataFrame", Frame),
            (query.progress, "observed", lambda packed, _plan: packed),
            (parcels, "_task", lambda: self.task),
            (ledger, "Path", path),
            (ledger, "os", fake),
            (ledger, "uuid", uuids),
            (owner, "os", fake),
            (owner, "uuid", uuids),
            (owner, "time", clock),
            (owner, "fcntl", SimpleNamespace(flock=self.lock, LOCK_EX=2, LOCK_NB=4)),
            (owner, "_held", _Held(self)),
            (owner, "Thread", substitutes.AtOnce),
            (collected, "small_parts", substitutes.small_parts),
            (sinks, "together", substitutes.in_turn),
            (totals, "check", lambda _spark, _checkpoint: None),
            (totals, "time", SimpleNamespace(time=lambda: float(len(self.log)))),
            (state_files, "Path", path),
            (state_files, "fs", files_),
            (driver_query, "partials", substitutes.partials),
            (query, "readable", lambda *_: None),
            (driver_query, "may_be_late", substitutes.may_be_late),
            (files, "uuid", uuids),
            (files, "shutil", SimpleNamespace(rmtree=self._remove)),
            # As many windows to a part as in `substitutes.part_of`.
            (local, "WINDOWS", 5),
            (local, "uuid", uuids),
            (local, "shutil", SimpleNamespace(rmtree=self._remove)),
            (local, "pq", SimpleNamespace(ParquetFile=self._parquet)),
            (files, "part_of", substitutes.part_of),
            (files, "one_per_key", substitutes.one_per_key),
        ]
        with ExitStack() as stack:
            for module, name, value in substituted:
                stack.enter_context(patch.object(module, name, value))
            yield

    def _parquet(self, path: DiskPath, **options: Any) -> pq.ParquetFile:  # noqa: ANN401
        return pq.ParquetFile(pa.BufferReader(self.disk.read(str(path))), **options)

    def _remove(self, path: DiskPath, *, ignore_errors: bool) -> None:
        for name in self.disk.below(str(path)):
            self.disk.delete(name)


class _Held(dict[str, Any]):
    """The locks of the process whose turn it is."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    def _own(self) -> dict[str, Any]:
        assert self._world.current is not None
        return self._world.current.locks

    def __contains__(self, key: object) -> bool:
        return key in self._own()

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401
        return self._own()[key]

    def __setitem__(self, key: str, value: Any) -> None:  # noqa: ANN401
        self._own()[key] = value

    def get(self, key: str, default: Any = None) -> Any:  # noqa: ANN401
        return self._own().get(key, default)

    def pop(self, key: str) -> Any:  # type: ignore[override]  # noqa: ANN401
        return self._own().pop(key)
