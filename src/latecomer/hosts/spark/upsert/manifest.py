"""The current files of a table: the bookkeeping of `upsert.files`, without any file access.

The rows of a table are cut into *parts*, by time. A micro-batch writes the parts that it touches
to a *place*, a directory that nothing refers to. A *state* says in which place each part is
current; the *manifest* is a list of the last few states:

    batch    touches    writes place    the state: part → place
    7        A B        0-r1            A → 0-r1, B → 0-r1
    8          B C      1-r1            A → 0-r1, B → 1-r1, C → 1-r1
    9            C D    2-r1            A → 0-r1, B → 1-r1, C → 2-r1, D → 2-r1

**No place of any state in the manifest is written to.** So a crash before the next manifest is
written changes nothing, a batch that is run again starts from the state before it, and a query that
reads an older state is not disturbed until that state has left the manifest.

**Each run has places and manifests of its own.** Their names end in that of the run (`r1`), and the
manifest with the highest epoch counts. So a driver that was replaced, and does not know it yet,
writes nothing that is ever read.

**Nothing is deleted.** A place that no state refers to is overwritten later, so their number stays
small. But a place is kept as long as one of its parts is current, together with parts that were
replaced long ago. So when less than half of the parts of a place are current, these are moved
together to a place of their own. They can rest there, because changed parts go to other places.
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
"""Number of states in a manifest: the current one, and those that may still be read."""


@dataclass(frozen=True, slots=True)
class State:
    """A table after a micro-batch."""

    batch: int
    """Number of the micro-batch; -1 for a table before the first one."""

    place_of: Mapping[str, str] = field(default_factory=dict)
    """Place of the current rows of each part."""

    written: Mapping[str, int] = field(default_factory=dict)
    """Number of parts that were written to each place that has a current one."""

    def moved(self, parts: Collection[str], place: str) -> Self:
        """Return the state after these parts were written to a place."""
        place_of = {**self.place_of, **dict.fromkeys(parts, place)}
        written = {**self.written, place: len(parts)}
        return self._placed(place_of, written)

    def without(self, parts: Collection[str]) -> Self:
        """Return the state after all rows of these parts were deleted."""
        place_of = {part: place for part, place in self.place_of.items() if part not in parts}
        return self._placed(place_of, self.written)

    def _placed(self, place_of: Mapping[str, str], written: Mapping[str, int]) -> Self:
        used = set(place_of.values())
        written = {place: count for place, count in written.items() if place in used}
        return replace(self, place_of=place_of, written=written)

    def resting(self) -> list[str]:
        """Return the current parts of places of which less than half is current."""
        current = Counter(self.place_of.values())
        return [
            part
            for part, place in self.place_of.items()
            if 2 * current[place] < self.written[place]
        ]


@dataclass(frozen=True, slots=True)
class Manifest:
    """The last states of a table, oldest first; the last one is current."""

    key: tuple[str, ...]
    columns: Mapping[str, Any]
    """The table's columns, as Spark writes a schema in JSON."""

    states: tuple[State, ...] = (State(-1),)

    turn: int = 0
    """Number of manifests that the table had before this one."""

    epoch: int = 0
    """Epoch of the run that wrote this manifest."""

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
        """Places that some state refers to."""
        return {place for state in self.states for place in state.place_of.values()}

    def free(self, run: str) -> Iterator[str]:
        """Return names of places of a run that no state refers to."""
        return (place for n in count() if (place := f"{n}-{run}") not in self.used)

    def with_state(self, state: State) -> Self:
        """Return the manifest with a state, which replaces those of its batch and later ones."""
        earlier = [each for each in self.states if each.batch < state.batch]
        return replace(self, states=(*earlier, state)[-KEPT:], turn=self.turn + 1)

    def to_record(self) -> dict[str, Any]:
        """Return the manifest as a record."""
        return {"format": FORMAT, **asdict(self)}

    @classmethod
    def from_record(cls, found: Mapping[str, Any]) -> Self:
        """Return the manifest of a record."""
        if found["format"] != FORMAT:
            raise StateFormatError(
                f"the table has a manifest in format {found['format']}; this version of Latecomer "
                f"reads format {FORMAT}.\n"
                "Hint: continue with the version that wrote it, or start with a new path."
            )
        states = tuple(State(s["batch"], s["place_of"], s["written"]) for s in found["states"])
        return cls(tuple(found["key"]), found["columns"], states, found["turn"], found["epoch"])
