"""Right answers from event streams that arrive out of order, on Apache Spark."""

from latecomer.errors import (
    ColumnNameError,
    ColumnNotFoundError,
    ColumnTypeError,
    DurationError,
    JavaNotFoundError,
    LatecomerError,
    LateRowError,
    MissingPackageError,
    OptionError,
    ReleaseTooLargeError,
    SessionError,
    StateFormatError,
    StateStoreError,
)
from latecomer.session import session
from latecomer.stream import DisorderedStream, OrderedStream, counts, disordered

__version__ = "0.1.0"

__all__ = [
    "ColumnNameError",
    "ColumnNotFoundError",
    "ColumnTypeError",
    "DisorderedStream",
    "DurationError",
    "JavaNotFoundError",
    "LateRowError",
    "LatecomerError",
    "MissingPackageError",
    "OptionError",
    "OrderedStream",
    "ReleaseTooLargeError",
    "SessionError",
    "StateFormatError",
    "StateStoreError",
    "__version__",
    "counts",
    "disordered",
    "session",
]
