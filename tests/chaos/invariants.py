"""Invariants of a run, whatever faults it had."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from latecomer.errors import OptionError, StateFormatError
from latecomer.hosts.spark.durable import outputs as directories
from latecomer.hosts.spark.flush import NUMBER
from latecomer.hosts.spark.upsert import files as tables
from latecomer.hosts.spark.upsert.manifest import KEPT
from latecomer.time import parse_duration
from tests.chaos.frames import Session
from tests.chaos.reference import Reference, Rows, counted
from tests.chaos.streams import read_log

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tests.chaos.catalogue import Entry
    from tests.chaos.frames import Frame
    from tests.chaos.schedule import Schedule
    from tests.chaos.world import World


class Violation(AssertionError):  # noqa: N818 - it is a finding
    """An invariant does not hold."""


class Invariants:
    """A reader that compares the outputs with the expected rows."""

    def __init__(
        self,
        world: World,
        schedule: Schedule,
        streams: list[list[pa.Table]],
        paths: dict[str, str],
        checkpoint: str,
    ) -> None:
        """Check the outputs under these paths."""
        self._world, self._schedule, self._streams = world, schedule, streams
        self._paths, self._checkpoint = paths, checkpoint
        self._spark = Session(world)
        self._reference = Reference(schedule.entry, streams)
        self._ends: dict[int, dict[str, pa.Table]] = {}
        """Rows that come out when the stream ends, by the last micro-batch before."""
        self._visible: dict[str, set[int]] = {}
        """Micro-batches of each output that a reader has seen; they must stay visible."""
        self._open: dict[str, tuple[Frame | None, int]] = {}
        """The outputs that a slow reader has opened, and the number of micro-batches then."""
        self.may_be_damaged = False
        """Whether a bit has flipped, so that files may be refused."""

    def check(self) -> None:
        """Check that a reader sees whole micro-batches with the right rows, at any moment.

        Raises:
            Violation: Micro-batches are incomplete, or rows are wrong.
        """
        self._end_reading()
        self._seen(is_over=False)
        self._begin_to_read()

    def check_end(self) -> None:
        """Check the outputs at the end of a run.

        Raises:
            Violation: Rows are missing, came out twice, or go back in time.
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
            frame, expected = self._opened("ready"), self._tables()[-1]
            rows = Counter() if frame is None else counted(frame.table())
            if rows != expected:
                raise Violation(_difference("the table", rows, expected))
        elif entry.keeps_rows and entry.plan.clock.answers == 1:
            self._check_rows(seen)

    def _seen(self, *, is_over: bool) -> dict[str, dict[int, pa.Table]]:
        """Read all outputs, and compare them."""
        offsets = read_log(self._world, self._checkpoint, "offsets")
        self._reference.upto(offsets, max(offsets, default=-1))
        found = {}
        for output in self._paths:
            frame = self._opened(output)
            rows = None if frame is None else frame.table()
            if self._is_table(output):
                self._compare_table(rows)
                continue
            found[output] = self._compared(output, rows, is_over=is_over)
            gone = self._visible.setdefault(output, set()) - found[output].keys()
            if gone and not self.may_be_damaged:
                raise Violation(f"micro-batches {sorted(gone)} of {output} were there, and are not")
            self._visible[output] |= found[output].keys()
        return found

    def _is_table(self, output: str) -> bool:
        return output == "ready" and bool(self._schedule.entry.key)

    def _opened(self, output: str) -> Frame | None:
        """Open an output; None if there is nothing to read, or if damage makes it unreadable."""
        read = tables.read if self._is_table(output) else directories.read
        try:
            return read(self._spark, self._paths[output])  # type: ignore[arg-type, return-value]
        except OptionError:
            return None
        except StateFormatError:
            if self.may_be_damaged:
                return None
            raise

    def _begin_to_read(self) -> None:
        """Open all outputs, to read them later, after more micro-batches."""
        begun = len(self._reference.batches)
        self._open = {output: (self._opened(output), begun) for output in self._paths}

    def _end_reading(self) -> None:
        """Read the outputs opened before: they give whole micro-batches, or an error."""
        for output, (frame, begun) in self._open.items():
            try:
                rows = None if frame is None else frame.table()
            except FileNotFoundError as error:
                if self._is_table(output) and len(self._reference.batches) - begun < KEPT:
                    raise Violation(f"a reader of the table lost its files: {error}") from error
                continue
            if self._is_table(output):
                self._compare_table(rows)
            else:
                self._compared(output, rows, is_over=False)

    def _compared(
        self, output: str, rows: pa.Table | None, *, is_over: bool
    ) -> dict[int, pa.Table]:
        """Split rows into micro-batches, and compare each."""
        if rows is None:
            return {}
        numbers = rows.column("batch").to_pylist()
        rows = rows.drop_columns(["batch"])
        found = {
            number: rows.filter(pa.array([each == number for each in numbers]))
            for number in sorted(set(numbers))
        }
        for number, batch in found.items():
            if number == NUMBER and self._schedule.entry.plan.idle and not is_over:
                # With `idle` the clock advances by itself, so a repeated end may have less to
                # release.
                continue
            expected, untold = self._expected(number).get(output), self._untold(number)
            wanted = Counter() if expected is None else counted(expected, *untold)
            if counted(batch, *untold) != wanted:
                what = f"micro-batch {number} of {output}"
                raise Violation(_difference(what, counted(batch, *untold), wanted))
        return found

    def _compare_table(self, rows: pa.Table | None) -> None:
        if rows is not None and counted(rows) not in (states := self._tables()):
            what = "as no micro-batch left it, the table"
            raise Violation(_difference(what, counted(rows), states[-1]))

    def _expected(self, number: int) -> dict[str, pa.Table]:
        if number == NUMBER:
            return self._end()
        if number >= len(self._reference.batches):
            raise Violation(f"micro-batch {number} is there, and was never begun")
        return self._reference.batches[number]

    def _end(self) -> dict[str, pa.Table]:
        """Compute the rows that come out at the end, after the last committed micro-batch."""
        offsets = read_log(self._world, self._checkpoint, "offsets")
        last = max(read_log(self._world, self._checkpoint, "commits"))
        if last not in self._ends:
            reference = Reference(self._schedule.entry, self._streams)
            reference.upto(offsets, last)
            self._ends[last] = reference.finish()
        return self._ends[last]

    def _untold(self, number: int) -> list[str]:
        """List columns that may differ from those of the local host.

        A bucket that did not run in the last micro-batch does not know the last clock.
        """
        is_end = number == NUMBER and self._schedule.entry.plan.clock.recalls
        return ["wait"] if is_end else []

    def _tables(self) -> list[Rows]:
        """Compute the table of current rows after each micro-batch."""
        batches = list(self._reference.batches)
        if any("/latecomer-ending/" in name for name in self._world.disk.files):
            batches.append(self._expected(NUMBER))
        return list(current(self._schedule.entry, batches))

    def _check_rows(self, seen: dict[str, dict[int, pa.Table]]) -> None:
        """Check that each row is ready, late or held once, and that times of a key ascend."""
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
    """Compute the table of current rows: empty at first, then after each micro-batch."""
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
