"""Aggregates that users write themselves.

A user writes four methods in plain Python, for one group at a time; this module calls them for all
groups. That is one call for each group and batch, which is slow if groups are many and small. No
other aggregate is slow in this way.

Users inherit from `UserAggregate`, which they know as `latecomer.agg.Aggregate`. It is not an
`Aggregate` itself: its methods have the same names and simpler arguments. `Custom` is the
`Aggregate` that calls them.

Values include nulls, and are in order of time within a call. Between calls there is no order: rows
of a later call may have earlier times. So `merge` must accept states of rows of any times.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar

import pyarrow as pa

from latecomer.errors import OptionError
from latecomer.labels import class_label
from latecomer.operators.aggregates.base import Aggregate, Columns, Input
from latecomer.operators.aggregates.slices import Slices

_TYPES = ("state_type", "result_type")
_METHODS = ("zero", "add", "merge", "finish")


class UserAggregate:
    """An aggregate of one column, in four methods.

    States are plain Python values of `state_type`, and values are an Arrow array. The result must
    not depend on how rows are cut into batches: merging the states of two batches must give the
    same result as adding both to one state.

    Example:
        >>> import pyarrow as pa
        >>> import pyarrow.compute as pc
        >>> from latecomer import agg
        >>> class Energy(agg.Aggregate):
        ...     state_type = result_type = pa.float64()
        ...
        ...     def zero(self):
        ...         return 0.0
        ...
        ...     def add(self, state, values):
        ...         return state + (pc.sum(pc.power(values, 2.0)).as_py() or 0.0)
        ...
        ...     def merge(self, one, other):
        ...         return one + other
        ...
        ...     def finish(self, state):
        ...         return state
        >>> Energy("volts", where="phase = 1")
        Energy(column='volts', where='phase = 1')
    """

    state_type: ClassVar[pa.DataType]
    """Arrow type of a state between two calls."""
    result_type: ClassVar[pa.DataType]
    """Arrow type of the result."""

    def __init__(self, column: Any, where: Any = None) -> None:  # noqa: ANN401
        """Set the column, and the condition for rows that are counted.

        Raises:
            OptionError: The class lacks one of its types or methods.
        """
        _check(type(self))
        self.column = column
        self.where = where

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({given})"

    @abstractmethod
    def zero(self) -> Any:  # noqa: ANN401
        """Return the state of no rows."""

    @abstractmethod
    def add(self, state: Any, values: pa.Array) -> Any:  # noqa: ANN401
        """Return the state with values added to it."""

    @abstractmethod
    def merge(self, one: Any, other: Any) -> Any:  # noqa: ANN401
        """Return one state for two."""

    @abstractmethod
    def finish(self, state: Any) -> Any:  # noqa: ANN401
        """Return the result of a state."""

    def specification(self) -> Custom:
        """Return the aggregate that operators run."""
        return Custom(self.column, self.where, user=self)


@dataclass(frozen=True, slots=True)
class Custom(Aggregate):
    """A user's aggregate, called for all groups."""

    fixed = ("column", "where", "user")

    user: UserAggregate = field(kw_only=True)

    needs_order: ClassVar[bool] = True
    minds_arrival: ClassVar[bool] = True

    def part(self, name: str) -> object:
        """Return the value of a field; for `user`, the class with its parameters and its code."""
        if name == "user":
            return class_label(self.user, UserAggregate)
        return Aggregate.part(self, name)

    def result_type(self, schema: pa.Schema) -> pa.DataType:
        self.type_in(schema)
        return self.user.result_type

    def state_types(self, schema: pa.Schema) -> list[pa.DataType]:
        return [self.user.state_type]

    def add(self, given: Input) -> Columns:
        """Add the rows of each group to a zero."""
        (values,), _, slices = given.filtered(self.where, self.column)
        user, bounds = self.user, slices.bounds.tolist()
        with self._named("zero"):
            states = [user.zero() for _ in range(len(slices))]
        with self._named("add"):
            for group, (start, stop) in enumerate(pairwise(bounds)):
                if start < stop:
                    states[group] = user.add(states[group], values.slice(start, stop - start))
            return [pa.array(states, user.state_type)]

    def merge(self, states: Columns, slices: Slices) -> Columns:
        """Merge the states of each group, from the first to the last."""
        given, bounds = states[0].to_pylist(), slices.bounds.tolist()
        with self._named("merge"):
            merged = [self._merged(given[start:stop]) for start, stop in pairwise(bounds)]
            return [pa.array(merged, self.user.state_type)]

    def finish(self, states: Columns, schema: pa.Schema) -> pa.Array:
        with self._named("finish"):
            results = [self.user.finish(state) for state in states[0].to_pylist()]
            return pa.array(results, self.user.result_type)

    def _merged(self, states: Sequence[Any]) -> Any:  # noqa: ANN401
        if not states:
            return self.user.zero()
        first, *others = states
        for other in others:
            first = self.user.merge(first, other)
        return first

    @contextmanager
    def _named(self, method: str) -> Iterator[None]:
        """Add the method to each error that it raises, as a note."""
        try:
            yield
        except Exception as error:
            wanted = self.user.result_type if method == "finish" else self.user.state_type
            error.add_note(
                f"in {type(self.user).__name__}.{method}, which must return {wanted}; "
                f"the aggregate is {self.user!r}."
            )
            raise


def _check(kind: type[UserAggregate]) -> None:
    for name in _TYPES:
        if not isinstance(getattr(kind, name, None), pa.DataType):
            raise OptionError(
                f"{kind.__name__}.{name} must be an Arrow type; it is "
                f"{getattr(kind, name, 'missing')!r}.\n"
                f"Hint: set it in the class, for example {name} = pa.float64()."
            )
    for name in _METHODS:
        if getattr(kind, name) is getattr(UserAggregate, name):
            raise OptionError(
                f"{kind.__name__} lacks the method {name}.\n"
                f"Hint: an aggregate has four methods: {', '.join(_METHODS)}."
            )
