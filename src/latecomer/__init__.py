"""Right answers from event streams that arrive out of order, on Apache Spark."""

from latecomer import agg
from latecomer.aggregated import AggregatedStream, GroupedStream, PivotedStream
from latecomer.corrected import CorrectedStream, OptimisticStream
from latecomer.errors import (
    AggregateOverflowError,
    ArrivalError,
    ChangedTableError,
    ColumnNameError,
    ColumnNotFoundError,
    ColumnTypeError,
    ConditionError,
    DurationError,
    FractionWarning,
    JavaNotFoundError,
    LatecomerError,
    LateRowError,
    MissingPackageError,
    OptionError,
    OrderError,
    PatternError,
    ReleaseTooLargeError,
    SessionError,
    StateFormatError,
    StateStoreError,
    TombstoneError,
    UpdateError,
)
from latecomer.generate.injection.delays import Delay
from latecomer.generate.injection.disorder import disorder
from latecomer.generate.injection.patterns import Drift, Outage, Override
from latecomer.hosts.recall_report import Achieved
from latecomer.hosts.spark.upsert import current, upsert
from latecomer.joined import JoinedStream, window_join
from latecomer.matched import MatchedStream
from latecomer.ordered import OrderedStream
from latecomer.pattern import Pattern, event
from latecomer.progressive import Answer, GroupedTable, ProgressiveTable, progressive
from latecomer.queries import achieved, counts, recall
from latecomer.report.profile import Profile, profile
from latecomer.session import session
from latecomer.stream import DisorderedStream, disordered
from latecomer.temporal import GroupedLifetimes, GroupedSessions, TemporalStream

__version__ = "0.1.0"

__all__ = [
    "Achieved",
    "AggregateOverflowError",
    "AggregatedStream",
    "Answer",
    "ArrivalError",
    "ChangedTableError",
    "ColumnNameError",
    "ColumnNotFoundError",
    "ColumnTypeError",
    "ConditionError",
    "CorrectedStream",
    "Delay",
    "DisorderedStream",
    "Drift",
    "DurationError",
    "FractionWarning",
    "GroupedLifetimes",
    "GroupedSessions",
    "GroupedStream",
    "GroupedTable",
    "JavaNotFoundError",
    "JoinedStream",
    "LateRowError",
    "LatecomerError",
    "MatchedStream",
    "MissingPackageError",
    "OptimisticStream",
    "OptionError",
    "OrderError",
    "OrderedStream",
    "Outage",
    "Override",
    "Pattern",
    "PatternError",
    "PivotedStream",
    "Profile",
    "ProgressiveTable",
    "ReleaseTooLargeError",
    "SessionError",
    "StateFormatError",
    "StateStoreError",
    "TemporalStream",
    "TombstoneError",
    "UpdateError",
    "__version__",
    "achieved",
    "agg",
    "counts",
    "current",
    "disorder",
    "disordered",
    "event",
    "profile",
    "progressive",
    "recall",
    "session",
    "upsert",
    "window_join",
]
