"""Run a plan under a schedule of faults, and check the invariants.

The code that runs is Latecomer's own, from `start()` down to the files. Spark is replaced by models
of what it guarantees: `frames` (DataFrames), `streams` and `states` (micro-batches), `disk`
(files). `invariants` checks the outputs. This module checks that a query continues after a restart
or refuses with an error of Latecomer, and that one of two drivers is refused.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from pyspark.errors import StreamingQueryException

from latecomer.api.aggregated import AggregatedStream
from latecomer.api.readable import Readable
from latecomer.errors import LatecomerError, OptionError, OwnerError, UnreadRowsError
from tests.chaos import rows as drawing
from tests.chaos.catalogue import Entry, catalogue, sink
from tests.chaos.frames import Session
from tests.chaos.invariants import Invariants, Violation
from tests.chaos.schedule import POWER, Schedule
from tests.chaos.streams import stream
from tests.chaos.world import Driver, World

if TYPE_CHECKING:
    from collections.abc import Sequence

CONF = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.stateStore.providerClass": "RocksDBStateStoreProvider",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}
STARTS = 12
"""The number of starts within which a run must end."""
OURS = ("/latecomer/", "/_latecomer/", "/manifest/")
"""Parts of the paths of files that only Latecomer reads."""


class Simulation:
    """A running schedule."""

    def __init__(self, schedule: Schedule) -> None:
        """Draw the rows, and create the world."""
        self.schedule, self.rng = schedule, random.Random(schedule.seed + 1)
        self.world = World(self.rng, is_local=schedule.is_local)
        self.told: list[str] = []
        """How each driver ended."""
        root = "/data" if schedule.is_local else "chaos://store"
        self.checkpoint = f"{root}/checkpoint"
        entry = schedule.entry
        self.streams = drawing.draw(self.rng, entry, schedule.batches)
        if entry.plan.idle is not None:
            # Micro-batches without rows make the stream silent.
            for batches, schema in zip(self.streams, entry.schemas, strict=True):
                batches.extend([schema.empty_table()] * 4)
        names = ["ready", *(each.source.late for each in entry.plan.inputs)]
        names += ["recall"] if entry.plan.targets else []
        self.paths = {name: f"{root}/{name}" for name in names}
        self.invariants = Invariants(
            self.world, schedule, self.streams, self.paths, self.checkpoint
        )
        self.world.watch = self._look
        self._names = iter("ABCDEFGHIJKLMNOPQRSTUVWXYZ")

    def run(self) -> None:
        """Run to the end, and check the invariants.

        Raises:
            Violation: An invariant does not hold.
        """
        with self.world.installed():
            try:
                self._run()
                self.world.current = None
                self.invariants.check_end()
            finally:
                self.world.end()

    def _run(self) -> None:
        for number in range(STARTS):
            driver = self._driver()
            if number < len(self.schedule.crashes):
                driver.fates = dict([self.schedule.crashes[number]])
            if self.schedule.turns and number == self.schedule.together:
                self._take_turns(driver)
            else:
                driver.go()
            if self._is_over(driver):
                return
            if number + 1 == self.schedule.flips:
                self._flip()
        raise Violation("it makes no progress")

    def _driver(self) -> Driver:
        return Driver(self.world, next(self._names), self._start)

    def _start(self) -> None:
        """Start the query in a new session, and wait for its end."""
        entry, buckets = self.schedule.entry, self.schedule.buckets
        spark = Session(self.world, CONF)
        dfs = tuple(
            stream(spark, number, *each)
            for number, each in enumerate(zip(entry.schemas, self.streams, strict=True))
        )
        outputs = {**self.paths, "ready": sink(entry, self.paths["ready"])}
        options: dict[str, Any] = {
            "checkpoint": self.checkpoint,
            "trigger": {"availableNow": True},
            "end": self.schedule.end,
        }
        if entry.states == "driver":
            asked = AggregatedStream(dfs, entry.plan, buckets)
            query = asked.start(outputs, states="driver", **options)
        else:
            query = Readable(dfs, entry.plan, buckets).start(outputs, **options)
        query.awaitTermination()

    def _take_turns(self, first: Driver) -> None:
        """Let two drivers take turns, then run each to its end."""
        pair = [first, self._driver()]
        for at, effects in enumerate(self.schedule.turns):
            pair[at % 2].go(effects)
        for each in self.rng.sample(pair, 2):
            each.go()
            self._tell(each)
            if each.error is not None and not (each.is_full or _is_refusal(each.error)):
                raise Violation(f"driver {each.name} failed: {each.error!r}") from each.error
            # A driver that is refused only when it ends the stream has written before.
            if isinstance(each.error, OwnerError) and "is in use" in str(each.error):
                self._check_refused(each)

    def _check_refused(self, driver: Driver) -> None:
        """Check that a driver refused at its start has written nothing but its query record."""
        own = [line for line in self.world.log if line.startswith(f"{driver.name} ")]
        if wrong := [line for line in own if "/latecomer/query" not in line]:
            raise Violation(f"driver {driver.name} was refused after {wrong}")

    def _is_over(self, driver: Driver) -> bool:
        """Return True if the run is complete. After a crash, apply its losses to the disk."""
        self._tell(driver)
        if driver.is_dead:
            if POWER in driver.fates.values():
                self.world.disk.power_cut(self.rng)
            self.world.disk.settle()
            return False
        error = driver.error
        if driver.is_stopped and error is None and self.schedule.end == "keep":
            return False
        if error is None or (isinstance(error, OptionError) and "has ended" in str(error)):
            return True
        if driver.is_full or isinstance(error, UnreadRowsError):
            return False
        if self.schedule.turns and _is_refusal(error):
            return False
        if self.invariants.may_be_damaged and _is_ours(error):
            self.told.append("damage was found")
            return True
        raise Violation(f"driver {driver.name} failed: {error!r}") from error

    def _tell(self, driver: Driver) -> None:
        how = "crashed" if driver.is_dead else "ended"
        failed = f": {driver.error!r}" if driver.error else ""
        self.told.append(f"{driver.name} {how} after {driver.effects} effects{failed}")

    def _flip(self) -> None:
        """Flip a bit of a file that only Latecomer reads."""
        files = sorted(self.world.disk.files)
        ours = [name for name in files if any(each in name for each in OURS)]
        ours = [name for name in ours if "/_temporary/" not in name and "_SUCCESS" not in name]
        if ours:
            name = self.rng.choice(ours)
            self.world.disk.flip(name, self.rng)
            self.world.log.append(f"a bit flips in {name}")
            self.invariants.may_be_damaged = True

    def _look(self) -> None:
        if self.rng.random() < self.schedule.looks:
            self.invariants.check()


_REFUSED = (
    "multiple streaming jobs",
    "OwnerError",
    "was not ended",
    "has ended",
    "about to end",
    # If two jobs write one directory, one of them fails in Spark.
    "FileNotFoundError",
)


def _is_refusal(error: BaseException) -> bool:
    """Return True if a driver was refused because of another driver."""
    return any(text in repr(error) for text in _REFUSED)


def _is_ours(error: BaseException) -> bool:
    """Return True for an error of Latecomer, itself or as the cause of a failed query."""
    return isinstance(error, LatecomerError) or (
        isinstance(error, StreamingQueryException) and isinstance(error.__cause__, LatecomerError)
    )


def simulate(seed: int, entries: Sequence[Entry] | None = None) -> Simulation:
    """Run one schedule.

    Raises:
        Violation: An invariant does not hold. The message has the schedule, how each driver ended,
            and the last effects.
    """
    simulation = Simulation(Schedule.draw(seed, list(entries or catalogue())))
    try:
        simulation.run()
    except Exception as error:
        effects, told = simulation.world.log[-60:], simulation.told
        lines = "\n  ".join([*told, *effects, f"{type(error).__name__}: {error}"])
        raise Violation(f"{simulation.schedule}\n  {lines}") from error
    return simulation
