"""The status of a query: one object, in words for people and as a dictionary for machines.

A value that is not known is None. Which values are known depends on how the query was started:
`docs/operate.md` has the list, and describes every key of `to_dict`.
"""

from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from latecomer.time import format_duration

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a query by output, since the checkpoint began."""

    read: int | None = None
    """Rows that came in; `in` in the dictionary."""
    ready: int = 0
    held: int | None = None
    """Rows that are held now. Windows hold states instead: see `Status.open_windows`."""
    late: dict[str, int] = field(default_factory=dict)
    """Rows of the late output, by reason."""
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class WaitStatus:
    """One of the waits that the user gave."""

    wait: str
    wait_ms: int
    answers: int | None = None
    """Result rows for this wait."""
    refined: int | None = None
    """Result rows that differ from the result of the wait before."""
    recall: float | None = None
    """Share of the rows that were in time for this wait; None while no window has closed."""


@dataclass(frozen=True, slots=True)
class RecallStatus:
    """One of the recalls that the user asked for; a fixed wait of a window join has no target."""

    target: float | None
    achieved: float | None
    wait_ms: int | None


@dataclass(frozen=True, slots=True)
class KeyStatus:
    """A key and its late rows."""

    key: dict[str, Any]
    late: int


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """A Spark source: the rows that it has read, and its backlog."""

    source: str
    rows: int | None = None
    """Rows of the last micro-batch."""
    backlog: dict[str, float] = field(default_factory=dict)
    """Data left to read, as the source measures it: files, bytes or offsets."""


@dataclass(frozen=True, slots=True)
class Status:
    """The counts and the current state of a query. Times are milliseconds since 1970."""

    query: str
    """Its name, or its id if it has none."""
    id: str
    run: str
    is_active: bool
    exact: bool
    """Whether all counts are complete since `since_batch`; else Spark may have forgotten some."""
    batch: int | None = None
    """Number of the last micro-batch."""
    since_batch: int | None = None
    """The first micro-batch that is counted; 0 where everything is."""
    watermark: int | None = None
    """The watermark of the last micro-batch; None where each key has its own."""
    newest: int | None = None
    """The largest time seen."""
    behind_newest_ms: int | None = None
    behind_wall_ms: int | None = None
    """Negative if a clock that runs ahead has moved the watermark into the future."""
    rows: Rows = field(default_factory=Rows)
    held_bytes: int | None = None
    open_windows: int | None = None
    """States that are held, one for each open window and key."""
    waits: list[WaitStatus] = field(default_factory=list)
    recalls: list[RecallStatus] = field(default_factory=list)
    backlog: float | None = None
    """The largest backlog of a source, in its own unit."""
    batch_ms: int | None = None
    rows_per_second: float | None = None
    keys: list[KeyStatus] = field(default_factory=list)
    """The keys with the most late rows, the worst first."""
    sources: list[SourceStatus] = field(default_factory=list)
    delays: list[tuple[int | None, int]] | None = None
    """Rows by delay: pairs of an upper bound in milliseconds and the rows between it and the bound
    before. The last bound is None, for all longer delays."""

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values that JSON can write; keys are in docs/operate.md."""
        found = asdict(self)
        rows = found["rows"]
        found["rows"] = {"in": rows.pop("read"), **rows}
        if self.delays is not None:
            found["delays"] = [list(pair) for pair in self.delays]
        return found

    @property
    def late(self) -> int:
        """Number of rows of the late output, for any reason."""
        return sum(self.rows.late.values())

    def __str__(self) -> str:
        return "\n".join(f"{name:<12}{text}" for name, text in self._lines() if text is not None)

    def _lines(self) -> list[tuple[str, str | None]]:
        state = "runs" if self.is_active else "has stopped"
        since = "" if self.since_batch in (None, 0) else f", counted since {self.since_batch}"
        batch = "no micro-batch yet" if self.batch is None else f"micro-batch {self.batch}{since}"
        lines = [("query", f"{self.query} {state}, {batch}"), ("watermark", self._watermark())]
        lines += [("rows", self._rows()), ("late", self._late()), ("held", self._held())]
        lines += [("wait", _wait(each)) for each in self.waits]
        lines += [("recall", _recall(each)) for each in self.recalls]
        lines += [("backlog", _backlog(each)) for each in self.sources if each.backlog]
        lines.append(("speed", self._speed()))
        worst = [f"{_key(each.key)} {each.late:,}" for each in self.keys[:3]]
        lines.append(("worst keys", ", ".join(worst) or None))
        return lines

    def _watermark(self) -> str | None:
        if self.watermark is None:
            return None
        behind = (("the newest row", self.behind_newest_ms), ("now", self.behind_wall_ms))
        told = [
            f"{_millis(abs(by))} {'ahead of' if by < 0 else 'behind'} {what}"
            for what, by in behind
            if by is not None
        ]
        return ", ".join([when(self.watermark), *told])

    def _rows(self) -> str:
        rows = self.rows
        told = [] if rows.read is None else [f"{rows.read:,} in"]
        told.append(f"{rows.ready:,} ready")
        return ", ".join([*told, f"{rows.dropped:,} dropped"] if rows.dropped else told)

    def _late(self) -> str:
        share = f" ({self.late / self.rows.read:.2%})" if self.rows.read else ""
        reasons = [f"{count:,} {reason}" for reason, count in self.rows.late.items() if count]
        return f"{self.late:,}{share}" + (f": {', '.join(reasons)}" if len(reasons) > 1 else "")

    def _held(self) -> str | None:
        told = [] if self.rows.held is None else [f"{self.rows.held:,} rows"]
        if self.open_windows:
            told.append(f"{self.open_windows:,} open windows")
        if self.held_bytes is not None:
            told.append(f"{self.held_bytes:,} bytes")
        return ", ".join(told) or None

    def _speed(self) -> str | None:
        if self.batch_ms is None:
            return None
        rate = "" if self.rows_per_second is None else f", {self.rows_per_second:,.0f} rows/s"
        return f"{_millis(self.batch_ms)} for the last micro-batch{rate}"


def when(millis: int) -> str:
    """Return a time as text; a time beyond the calendar is given as a number."""
    try:
        return f"{_EPOCH + timedelta(milliseconds=millis):%Y-%m-%d %H:%M:%S}"
    except OverflowError:
        return str(millis)


def _millis(millis: int) -> str:
    return format_duration(1_000 * millis)


def _share(share: float | None) -> str:
    return "nothing yet" if share is None else f"{share:.2%}"


def _wait(each: WaitStatus) -> str:
    told = [] if each.recall is None else [f"{_share(each.recall)} in time"]
    counts = ((each.answers, "answers"), (each.refined, "refined"))
    told += [f"{count:,} {what}" for count, what in counts if count is not None]
    return f"{each.wait}: {', '.join(told)}"


def _recall(each: RecallStatus) -> str:
    wait = "" if each.wait_ms is None else f", waiting {_millis(each.wait_ms)}"
    target = "no target" if each.target is None else f"{each.target:.2%} asked"
    return f"{target}, {_share(each.achieved)} achieved{wait}"


def _backlog(each: SourceStatus) -> str:
    told = [f"{value:,.0f} {name}" for name, value in each.backlog.items()]
    return f"{each.source}: {', '.join(told)}"


def _key(key: dict[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in key.items())
