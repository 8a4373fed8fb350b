"""Which files of a table are current: the bookkeeping of `upsert_files`, without any files.

The rows of a table are cut into *parts*, by time. A micro-batch writes the parts that it touches
to a *place*, a directory that nothing refers to. A *state* says in which place each part is
current; the *manifest* is a list of the last few states:

    batch    touches    writes place    the state: part → place
    7        A B        0-r1            A → 0-r1, B → 0-r1
    8          B C      1-r1            A → 0-r1, B → 1-r1, C → 1-r1
    9            C D    2-r1            A → 0-r1, B → 1-r1, C → 2-r1, D → 2-r1

**No place of any state in the manifest is written to.** So a crash before the next manifest is
there changes nothing, a batch that is run again starts from the state before it, and a query that
reads an older state is not disturbed until that state has left the manifest.

**Each run has places and manifests of its own.** Their names end in that of the run (`r1`), and the
manifest with the highest epoch counts. So a driver that was replaced, and does not know it yet,
writes nothing that is ever read.

**Nothing is deleted.** A place that no state refers to is overwritten when its turn comes; so there
are not many of them. But a place is kept as long as one of its parts is current, and would take
others with it, long replaced. So parts that make up less than half of their place are moved
together to a place of their own: they rest there, since whatever changes goes elsewhere.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import count
from typing import Any, Self

from latecomer.errors import OptionError, StateFormatError

FORMAT = 2
"""Version of the manifest. Raise it when an older one can no longer be read."""

KEPT = 6
"""How many states a manifest lists: the current one, and those that may still be read."""


@dataclass(frozen=True, slots=True)
class State:
    """A table as one micro-batch left it."""

    batch: int
    """The number of the micro-batch; -1 for a table before the first one."""

    place_of: Mapping[str, str] = field(default_factory=dict)
    """Where each part is current."""

    written: Mapping[str, int] = field(default_factory=dict)
    """Number of parts that were written to each place that has a current one."""

    def moved(self, parts: Collection[str], place: str) -> Self:
        """Return the state after these parts were written to a place."""
        place_of = {**self.place_of, **dict.fromkeys(parts, place)}
        written = {**self.written, place: len(parts)}
        return self._placed(place_of, written)

    def without(self, parts: Collection[str]) -> Self:
        """Return the state after all rows of these parts have gone."""
        if not parts:
            return self
        place_of = {part: place for part, place in self.place_of.items() if part not in parts}
        return self._placed(place_of, self.written)

    def _placed(self, place_of: Mapping[str, str], written: Mapping[str, int]) -> Self:
        used = set(place_of.values())
        written = {place: count for place, count in written.items() if place in used}
        return replace(self, place_of=place_of, written=written)

    def resting(self) -> list[str]:
        """List the parts that are less than half of what was written to their place."""
        current = Counter(self.place_of.values())
        return [
            part
            for part, place in self.place_of.items()
            if 2 * current[place] < self.written[place]
        ]


@dataclass(frozen=True, slots=True)
class Manifest:
    """The last states of a table, oldest first; the last of them is the table."""

    key: tuple[str, ...]
    columns: Mapping[str, Any]
    """The table's columns, as Spark writes a schema in JSON."""

    states: tuple[State, ...] = (State(-1),)

    turn: int = 0
    """How many manifests the table had before this one."""

    epoch: int = 0
    """Which of the runs that have written to the table wrote this one."""

    def before(self, number: int) -> State:
        """Return the state that a micro-batch starts from, whether or not it is run again."""
        earlier = [state for state in self.states if state.batch < number]
        if not earlier:
            raise OptionError(
                f"the table holds micro-batches up to {self.states[-1].batch} and can go back to "
                f"{self.states[0].batch + 1}; got micro-batch {number}.\n"
                "Hint: a table belongs to one checkpoint. With a new checkpoint write to a new "
                "path, or delete the table first."
            )
        return earlier[-1]

    @property
    def used(self) -> set[str]:
        """The places that some state refers to."""
        return {place for state in self.states for place in state.place_of.values()}

    def free(self, run: str) -> Iterator[str]:
        """Name the places of a run that no state refers to."""
        return (place for n in count() if (place := f"{n}-{run}") not in self.used)

    def with_state(self, state: State) -> Self:
        """Return the next manifest. What was after this state's batch is replaced by it."""
        earlier = [each for each in self.states if each.batch < state.batch]
        return replace(self, states=(*earlier, state)[-KEPT:], turn=self.turn + 1)

    def to_record(self) -> dict[str, Any]:
        """Write the manifest as a record."""
        return {"format": FORMAT, **asdict(self)}

    @classmethod
    def from_record(cls, found: Mapping[str, Any]) -> Self:
        """Read what `to_record` wrote."""
        if found["format"] != FORMAT:
            raise StateFormatError(
                f"the table has a manifest in format {found['format']}; this version of Latecomer "
                f"reads format {FORMAT}.\n"
                "Hint: go on with the version that wrote it, or start with a new path."
            )
        states = tuple(State(s["batch"], s["place_of"], s["written"]) for s in found["states"])
        return cls(tuple(found["key"]), found["columns"], states, found["turn"], found["epoch"])
