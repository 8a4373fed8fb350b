"""All errors and warnings of Latecomer.

Each class also inherits the built-in that a caller would catch. A message says, in this order:
what is wrong, what was given, and, after "Hint:", what to do.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

__all__ = [
    "AggregateOverflowError",
    "ArrivalError",
    "ChangedTableError",
    "ClockError",
    "ColumnNameError",
    "ColumnNotFoundError",
    "ColumnTypeError",
    "ConditionError",
    "DurationError",
    "FractionWarning",
    "HeldLimitError",
    "IdentityWarning",
    "JavaNotFoundError",
    "LateRowError",
    "LateRowsWarning",
    "LatecomerError",
    "MissingPackageError",
    "OptionError",
    "OrderError",
    "OwnerError",
    "PartitionsWarning",
    "PatternError",
    "QueryFailedError",
    "SessionError",
    "StateFormatError",
    "StateStoreError",
    "StepError",
    "TombstoneError",
    "UnreadRowsError",
    "UpdateError",
]


def listed(names: Iterable[str]) -> str:
    """Return names in quotes, separated by commas, for the message of an error."""
    return ", ".join(f'"{name}"' for name in names)


class LatecomerError(Exception):
    """The base of all errors raised by Latecomer."""


class ColumnNotFoundError(LatecomerError, LookupError):
    """The stream does not have a column of this name."""


class ColumnTypeError(LatecomerError, TypeError):
    """A column has a type that the operation does not support."""


class ColumnNameError(LatecomerError, ValueError):
    """A column of the stream has a name that Latecomer needs for its own output."""


class ArrivalError(LatecomerError, ValueError):
    """A file to be replayed is not in order of arrival, or has rows that never arrived."""


class OrderError(LatecomerError, TypeError):
    """An operation that needs an ordered stream was given a disordered one."""


class DurationError(LatecomerError, ValueError):
    """A duration cannot be read, is negative, or is missing."""


class HeldLimitError(LatecomerError, MemoryError):
    """A stage holds more rows than its limit allows."""


class OptionError(LatecomerError, ValueError):
    """An option was given a value that it does not take."""


class PatternError(LatecomerError, ValueError):
    """A pattern cannot be matched as it is written, or has too many matches at once."""


class ConditionError(LatecomerError, ValueError):
    """A condition on rows cannot be compiled, or does not take the rows it is given."""


class UpdateError(LatecomerError, RuntimeError):
    """A user's function failed on a row, or returned a value that is not allowed."""


class TombstoneError(LatecomerError, LookupError):
    """A tombstone refers to an item that is not there, or an item came twice."""


class AggregateOverflowError(LatecomerError, OverflowError):
    """An aggregate does not fit its type."""


class ChangedTableError(LatecomerError, RuntimeError):
    """A table that is read several times was not the same each time."""


class LateRowError(LatecomerError, ValueError):
    """A row is late or has no usable time, and the stream has `late="raise"`."""


class StepError(LatecomerError, AttributeError):
    """A stream does not offer this step, or does not offer it yet."""


class StateFormatError(LatecomerError, RuntimeError):
    """A checkpoint holds state that this version or this plan cannot carry on."""


class OwnerError(LatecomerError, RuntimeError):
    """Another driver runs a query on the same checkpoint."""


class UnreadRowsError(LatecomerError, RuntimeError):
    """A stream cannot be ended, because some of its rows have not been read."""


class ClockError(LatecomerError, RuntimeError):
    """Another watermark keeps the clock of a query from moving."""


class QueryFailedError(LatecomerError, RuntimeError):
    """A query failed with an error that Latecomer did not raise."""


class StateStoreError(LatecomerError, RuntimeError):
    """The Spark session keeps streaming state in a store that cannot work here."""


class SessionError(LatecomerError, RuntimeError):
    """A running Spark session has static settings that Latecomer cannot work with."""


class JavaNotFoundError(LatecomerError, RuntimeError):
    """No Java that Spark can run on was found."""


class MissingPackageError(LatecomerError, ImportError):
    """An optional package is needed, but not installed."""


class IdentityWarning(UserWarning):
    """Latecomer cannot check whether a query is the one that wrote its checkpoint."""


class LateRowsWarning(UserWarning):
    """Late rows of a stream go to a DataFrame that may not be written to any sink."""


class PartitionsWarning(UserWarning):
    """A stream is spread over more state stores than it is likely to need."""


class FractionWarning(UserWarning):
    """A stream could not be made as disordered as requested."""


def redacted(error: Exception) -> Exception:
    """Return an error that names the place of a failure, but shows nothing of the rows."""
    kind = type(error) if isinstance(error, LatecomerError) else RuntimeError
    causes, at = [], error.__traceback__
    each: BaseException | None = error
    while each is not None:
        causes.append(type(each).__name__)
        at = each.__traceback__ or at
        each = each.__cause__ or each.__context__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    place = "" if at is None else f" in {at.tb_frame.f_code.co_name}, line {at.tb_lineno}"
    return kind(
        f"{' from '.join(causes)}{place}; the rest is withheld, because it may show rows.\n"
        "Hint: run the query without redact=True on rows that may be shown."
    )


@contextmanager
def withheld(*, if_redacted: bool) -> Iterator[None]:
    """Let no error inside show rows, if the stream is redacted."""
    try:
        yield
    except Exception as error:
        if if_redacted:
            raise redacted(error) from None
        raise
