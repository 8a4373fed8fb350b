"""What always holds of a run, whatever has happened to it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from latecomer.errors import OptionError, StateFormatError
from latecomer.hosts.spark.durable import outputs as directories
from latecomer.hosts.spark.flush import NUMBER
from latecomer.hosts.spark.upsert import files as tables
from latecomer.time import parse_duration
from tests.chaos.frames import Session
from tests.chaos.reference import Reference, Rows, counted
from tests.chaos.streams import read_log

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from tests.chaos.catalogue import Entry
    from tests.chaos.schedule import Schedule
    from tests.chaos.world import World


class Violation(AssertionError):  # noqa: N818 - it is a finding
    """Something that always holds did not."""


class Invariants:
    """A reader of the outputs, who knows what they must be."""

    def __init__(
        self,
        world: World,
        schedule: Schedule,
        streams: list[list[pa.Table]],
        paths: dict[str, str],
        checkpoint: str,
    ) -> None:
        """Look at the outputs under these paths."""
        self._world, self._schedule, self._streams = world, schedule, streams
        self._paths, self._checkpoint = paths, checkpoint
        self._spark = Session(world)
        self._reference = Reference(schedule.entry, streams)
        self._ends: dict[int, dict[str, pa.Table]] = {}
        """What is left at the end, by the last micro-batch before it."""
        self.may_be_damaged = False
        """Whether a bit has flipped, so that what is there may be refused."""

    def check(self) -> None:
        """Check what a reader sees at any moment: whole micro-batches, with the right rows.

        Raises:
            Violation: It is not so.
        """
        self._seen(is_over=False)

    def check_end(self) -> None:
        """Check what holds when a run has come to its end.

        Raises:
            Violation: Rows are missing, came twice, or go back in time.
        """
        seen = self._seen(is_over=True)
        if self.may_be_damaged:
            return
        offsets, commits = (
            read_log(self._world, self._checkpoint, name) for name in ("offsets", "commits")
        )
        last = max(commits)
        if offsets[last]["until"] != [len(batches) for batches in self._streams]:
            raise Violation("it ended, and not all was read")
        numbers = [*range(last + 1), *([NUMBER] if self._schedule.end == "flush" else [])]
        for output, batches in seen.items():
            missing = [n for n in numbers if output in self._expected(n) and n not in batches]
            if missing:
                raise Violation(f"micro-batches {missing} of {output} are missing")
        entry = self._schedule.entry
        if entry.key:
            expected = self._tables()[-1]
            if self._table() != expected:
                raise Violation(_difference("the table", self._table() or Counter(), expected))
        elif entry.keeps_rows and entry.plan.clock.answers == 1:
            self._check_rows(seen)

    def _seen(self, *, is_over: bool) -> dict[str, dict[int, pa.Table]]:
        """Read all outputs, and compare them."""
        offsets = read_log(self._world, self._checkpoint, "offsets")
        self._reference.upto(offsets, max(offsets, default=-1))
        found = {}
        for output, path in self._paths.items():
            if output == "ready" and self._schedule.entry.key:
                table = self._table()
                if table is not None and table not in (states := self._tables()):
                    what = "as no micro-batch left it, the table"
                    raise Violation(_difference(what, table, states[-1]))
                continue
            found[output] = self._batches(path)
            for number, rows in found[output].items():
                if number == NUMBER and self._schedule.entry.plan.idle and not is_over:
                    # Where time goes on by itself, a second try to end has more behind it.
                    continue
                expected = self._expected(number).get(output)
                untold = self._untold(number)
                wanted = Counter() if expected is None else counted(expected, *untold)
                if counted(rows, *untold) != wanted:
                    what = f"micro-batch {number} of {output}"
                    raise Violation(_difference(what, counted(rows, *untold), wanted))
        return found

    def _batches(self, path: str) -> dict[int, pa.Table]:
        """Read the complete micro-batches of an output."""
        rows = self._read(lambda: directories.read(self._spark, path).table())
        if rows is None:
            return {}
        numbers = rows.column("batch").to_pylist()
        rows = rows.drop_columns(["batch"])
        return {
            number: rows.filter(pa.array([each == number for each in numbers]))
            for number in sorted(set(numbers))
        }

    def _table(self) -> Rows | None:
        path = self._paths["ready"]
        rows = self._read(lambda: tables.read(self._spark, path).table())
        return None if rows is None else counted(rows)

    def _read(self, read: Callable[[], pa.Table]) -> pa.Table | None:
        try:
            return read()
        except OptionError:
            return None
        except StateFormatError:
            if self.may_be_damaged:
                return None
            raise

    def _expected(self, number: int) -> dict[str, pa.Table]:
        if number == NUMBER:
            return self._end()
        if number >= len(self._reference.batches):
            raise Violation(f"micro-batch {number} is there, and was never begun")
        return self._reference.batches[number]

    def _end(self) -> dict[str, pa.Table]:
        """Work out what is left when the stream ends; what was refused then is not part of it."""
        offsets = read_log(self._world, self._checkpoint, "offsets")
        last = max(read_log(self._world, self._checkpoint, "commits"))
        if last not in self._ends:
            reference = Reference(self._schedule.entry, self._streams)
            reference.upto(offsets, last)
            self._ends[last] = reference.finish()
        return self._ends[last]

    def _untold(self, number: int) -> list[str]:
        """List columns that may differ from those of the local host.

        A bucket that slept in the last micro-batch has not heard how far the clock had come.
        """
        is_end = number == NUMBER and self._schedule.entry.plan.clock.recalls
        return ["wait"] if is_end else []

    def _tables(self) -> list[Rows]:
        """Work out the table of current rows after each micro-batch."""
        batches = list(self._reference.batches)
        if any("/latecomer-ending/" in name for name in self._world.disk.files):
            batches.append(self._expected(NUMBER))
        return list(current(self._schedule.entry, batches))

    def _check_rows(self, seen: dict[str, dict[int, pa.Table]]) -> None:
        """Each row is in one of ready, late and held; within a key, none goes back in time."""
        out = Counter(
            number
            for output, batches in seen.items()
            if output != "recall"
            for rows in batches.values()
            for number in rows.column("id").to_pylist()
        )
        if twice := [number for number, many in out.items() if many > 1]:
            raise Violation(f"rows {twice} came out twice")
        told = self._reference
        held = 0 if self._schedule.end == "flush" else told.held
        if len(out) + told.dropped + held != told.read:
            raise Violation(
                f"{told.read} rows were read; {len(out)} came out, {told.dropped} were dropped, "
                f"{held} are held"
            )
        newest: dict[str, Any] = {}
        for rows in seen["ready"].values():
            for row in rows.to_pylist():
                if row["time"] < newest.setdefault(row["k"], row["time"]):
                    raise Violation(f"row {row['id']} goes back in time")
                newest[row["k"]] = row["time"]


def current(entry: Entry, batches: Iterable[Mapping[str, pa.Table]]) -> Iterator[Rows]:
    """Work out the table of current rows: empty, and after each micro-batch."""
    rows: dict[str, tuple[int, Any]] = {}
    yield Counter()
    for outputs in batches:
        for row in outputs["ready"].to_pylist() if "ready" in outputs else ():
            name = repr([row[each] for each in entry.key])
            wait = parse_duration(row["wait"], "wait")
            if wait >= rows.get(name, (0, None))[0]:
                rows[name] = wait, row
        yield Counter(repr(tuple(row.values())) for _, row in rows.values())


def _difference(what: str, found: Rows, wanted: Rows) -> str:
    more, less = (sorted(each.elements()) for each in (found - wanted, wanted - found))
    right = (found & wanted).total()
    return (
        f"{what} has {len(more)} rows too many, {len(less)} too few, and {right} right; the first "
        f"are {more[:3]} and {less[:3]}"
    )
