"""Persons, auctions and bids of an auction house, out of order, as `benchmarks.nexmark` reads them.

Nexmark (Tucker, Tufte, Papadimos, Maier: *NEXMark: A Benchmark for Queries over Data Streams*,
2008) describes the events; the ratios and first numbers are those of Apache Beam's suite. This
generator is our own:

    50 events    1 person, 3 auctions, 46 bids, always in this order
    persons      are numbered from 1000; so are auctions
    sellers      three of four auctions are of a hot person, the others of one of the last 1,000
    bids         one of two is for a hot auction, the others for one of the last 100
    prices       from 1 to 1,000,000, the logarithm of which is uniform
    an auction   is open for up to twice the time in which 100 auctions begin

All events take 100 seconds, however many there are. Then `latecomer.inject_disorder` delays them as
one stream, so that 30 % come after a newer one, by less than 4 s: the wait that Flink's suite has.

Files are written twice, without a header and in order of arrival:

    batches/STREAM/   a file for each micro-batch, cut by arrival; the last one has one row of the
                      day after, which closes everything before it
    parts/STREAM/     two files, rows dealt out in turn, for systems in which each task reads one
"""

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc

import latecomer as lc

PERSONS, AUCTIONS, BIDS = 1, 3, 46
"""Of 50 events."""
EVERY = PERSONS + AUCTIONS + BIDS
FIRST, FIRST_CATEGORY, CATEGORIES = 1_000, 10, 5
ACTIVE_PERSONS, OPEN_AUCTIONS, HOT = 1_000, 100, 100
"""Hot numbers are multiples of `HOT`."""
STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
CITIES = ("Phoenix", "Palo Alto", "Boise", "Portland", "Bend", "Redmond", "Seattle", "Cheyenne")
BEGIN = 1_704_067_200_000
SPAN, WINDOW, HOP, WAIT = 100_000, 10_000, 2_000, 4_000
"""In milliseconds, as all times here."""
DAY_AFTER = BEGIN + 86_400_000
FRACTION, DELAY = 0.3, "uniform:50ms:3900ms"
BATCHES, PARTS = 8, 2
_EPOCH = 1_000_000_000


@dataclass(frozen=True)
class Events:
    """The three streams, each in order of arrival."""

    persons: pa.Table
    auctions: pa.Table
    bids: pa.Table

    @property
    def longest(self) -> int:
        """The longest time for which an auction is open."""
        return open_time(sum(table.num_rows for table in self.tables.values())) + 1

    @property
    def tables(self) -> dict[str, pa.Table]:
        return {"persons": self.persons, "auctions": self.auctions, "bids": self.bids}


def open_time(events: int) -> int:
    """Return twice the time in which as many auctions begin as are open at once."""
    return max(1, 2 * OPEN_AUCTIONS * EVERY * SPAN // (AUCTIONS * events))


def make(events: int, seed: int = 1) -> Events:
    """Make events from a seed."""
    random = np.random.default_rng(seed)
    number = np.arange(events, dtype=np.int64)
    times = BEGIN + number * SPAN // events
    arrivals, order = _arrived(number, times, seed)
    turn, place = np.divmod(number, EVERY)
    made = {
        "persons": _persons(turn, times, random),
        "auctions": _auctions(turn, place, times, random),
        "bids": _bids(turn, times, random),
    }
    kinds = np.digitize(place, [PERSONS, PERSONS + AUCTIONS])
    tables = {}
    for kind, (name, columns) in enumerate(made.items()):
        chosen = order[kinds[order] == kind]
        known = {**columns, "time_ms": times, "arrival_ms": arrivals}
        tables[name] = pa.table({key: np.asarray(each)[chosen] for key, each in known.items()})
    return Events(**tables)


def _arrived(number: np.ndarray, times: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the arrival of each event, and the events in order of arrival."""
    when = pa.array(times, pa.timestamp("ms", "UTC"))
    rows = pa.table({"number": number, "time": when})
    late = lc.inject_disorder(rows, time="time", fraction=FRACTION, delay=DELAY, seed=seed)
    order = late["number"].to_numpy()
    arrivals = np.empty_like(times)
    arrivals[order] = late["arrival"].cast(pa.int64()).to_numpy() // 1_000
    return arrivals, order


def _hot(last: np.ndarray, share: float, recent: int, random: np.random.Generator) -> np.ndarray:
    """Choose numbers up to the last one: a hot one for a share of them, else a recent one."""
    hot = last // HOT * HOT
    lowest = np.maximum(last - recent + 1, 0)
    cold = lowest + random.integers(0, 1 << 40, len(last)) % (last - lowest + 1)
    return FIRST + np.where(random.random(len(last)) < share, hot, cold)


def _persons(turn: np.ndarray, times: np.ndarray, random: np.random.Generator) -> dict:
    count = len(times)
    return {
        "id": FIRST + turn,
        "name": np.char.add("person ", (FIRST + turn).astype(str)),
        "city": np.array(CITIES)[random.integers(0, len(CITIES), count)],
        "state": np.array(STATES)[random.integers(0, len(STATES), count)],
        "extra": _filler(count, 100, random),
    }


def _auctions(
    turn: np.ndarray, place: np.ndarray, times: np.ndarray, random: np.random.Generator
) -> dict:
    count = len(times)
    number = AUCTIONS * turn + place - PERSONS
    return {
        "id": FIRST + number,
        "item": np.char.add("item ", (FIRST + number).astype(str)),
        "initial_bid": _prices(count, random),
        "reserve": _prices(count, random),
        "expires_ms": times + 1 + random.integers(0, open_time(count) + 1, count),
        "seller": _hot(turn, 0.75, ACTIVE_PERSONS, random),
        "category": FIRST_CATEGORY + random.integers(0, CATEGORIES, count),
        "extra": _filler(count, 200, random),
    }


def _bids(turn: np.ndarray, times: np.ndarray, random: np.random.Generator) -> dict:
    count = len(times)
    return {
        "auction": _hot(AUCTIONS * turn + AUCTIONS - 1, 0.5, OPEN_AUCTIONS, random),
        "bidder": _hot(turn, 0.75, ACTIVE_PERSONS, random),
        "price": _prices(count, random),
        "extra": _filler(count, 50, random),
    }


def _prices(count: int, random: np.random.Generator) -> np.ndarray:
    """Make prices in cents."""
    return np.round(100 * 10 ** (6 * random.random(count))).astype(np.int64)


def _filler(count: int, size: int, random: np.random.Generator) -> np.ndarray:
    """Make text that no query reads but some hand on, one of a thousand for each row."""
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    texts = np.array(["".join(row) for row in letters[random.integers(0, 26, (1_000, size))]])
    return pa.array(texts).take(pa.array(random.integers(0, len(texts), count)))


CLOSING = {
    "persons": {"id": -1, "state": "OR"},
    "auctions": {"id": -1, "seller": -2, "category": FIRST_CATEGORY, "expires_ms": DAY_AFTER + 1},
    "bids": {"auction": 0, "bidder": -1},
}
"""Rows that pass every filter, because others would not move the clock, and join with none."""


def closing(events: Events) -> dict[str, pa.Table]:
    """Make one row of the day after for each stream."""
    rows = {}
    for name, table in events.tables.items():
        values = {field.name: "" if pa.types.is_string(field.type) else 0 for field in table.schema}
        values |= {"time_ms": DAY_AFTER, "arrival_ms": DAY_AFTER} | CLOSING[name]
        rows[name] = pa.Table.from_pylist([values], table.schema)
    return rows


def write(events: Events, folder: Path, batches: int = BATCHES) -> None:
    """Write all files; each micro-batch has the events that arrive in an equal share of time."""
    last = closing(events)
    size = -(-(SPAN + WAIT) // batches)
    for name, table in events.tables.items():
        cut = (table["arrival_ms"].to_numpy() - BEGIN) // size
        for number in range(batches):
            _file(table.filter(pa.array(cut == number)), folder / "batches" / name, number)
        _file(last[name], folder / "batches" / name, batches)
        turns = np.arange(table.num_rows) % PARTS
        for number in range(PARTS):
            _file(table.filter(pa.array(turns == number)), folder / "parts" / name, number)


def _file(table: pa.Table, folder: Path, number: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{number:03}.csv"
    pc.write_csv(table, path, pc.WriteOptions(include_header=False, quoting_style="none"))
    # Spark reads files in the order of their last change.
    os.utime(path, (_EPOCH + number, _EPOCH + number))


def moment(time_ms: int) -> datetime:
    return datetime.fromtimestamp(time_ms / 1_000, UTC)
