"""Right answers from event streams that arrive out of order, on Apache Spark.

A public name is imported when it is first used. Every Spark worker imports this package, and most
of them need only a few of its modules.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING

from latecomer import errors
from latecomer.errors import *  # noqa: F403 - its public names, which are all errors and warnings

if TYPE_CHECKING:
    from latecomer.api import agg
    from latecomer.api.aggregated import AggregatedStream, GroupedStream, PivotedStream
    from latecomer.api.dashboard import Dashboard, dashboard
    from latecomer.api.disordered import DisorderedStream, disordered
    from latecomer.api.local_run import LocalRun
    from latecomer.api.matched import MatchedStream
    from latecomer.api.optimistic import CorrectedStream, OptimisticStream
    from latecomer.api.ordered import OrderedStream
    from latecomer.api.pattern import Pattern, event
    from latecomer.api.profile import Profile, profile
    from latecomer.api.progressive import Answer, GroupedTable, ProgressiveTable, progressive
    from latecomer.api.queries import counts, held, listen, read, recall, status, why
    from latecomer.api.query import Query
    from latecomer.api.temporal import GroupedLifetimes, GroupedSessions, TemporalStream
    from latecomer.api.what_if import what_if
    from latecomer.api.window_join import JoinedStream, window_join
    from latecomer.api.windowed import DisorderedWindows, WindowedStream
    from latecomer.generate.injection.delays import Delay
    from latecomer.generate.injection.disorder import inject_disorder
    from latecomer.generate.injection.patterns import Drift, Outage, Override
    from latecomer.hosts.recall_report import Achieved
    from latecomer.hosts.spark.tables.delta import delta
    from latecomer.hosts.spark.tables.kafka import kafka
    from latecomer.hosts.spark.tables.table import table
    from latecomer.hosts.spark.upsert.sink import current, upsert
    from latecomer.hosts.status import Status
    from latecomer.labels import versioned
    from latecomer.report.recall_page import recall_page
    from latecomer.report.what_if import WhatIf
    from latecomer.runtime.session import session

__version__ = "0.2.0"

__all__ = [
    "Achieved",
    "AggregatedStream",
    "Answer",
    "CorrectedStream",
    "Dashboard",
    "Delay",
    "DisorderedStream",
    "DisorderedWindows",
    "Drift",
    "GroupedLifetimes",
    "GroupedSessions",
    "GroupedStream",
    "GroupedTable",
    "JoinedStream",
    "LocalRun",
    "MatchedStream",
    "OptimisticStream",
    "OrderedStream",
    "Outage",
    "Override",
    "Pattern",
    "PivotedStream",
    "Profile",
    "ProgressiveTable",
    "Query",
    "Status",
    "TemporalStream",
    "WhatIf",
    "WindowedStream",
    "__version__",
    "agg",
    "counts",
    "current",
    "dashboard",
    "delta",
    "disordered",
    "event",
    "held",
    "inject_disorder",
    "kafka",
    "listen",
    "profile",
    "progressive",
    "read",
    "recall",
    "recall_page",
    "session",
    "status",
    "table",
    "upsert",
    "versioned",
    "what_if",
    "why",
    "window_join",
]
__all__ += errors.__all__


def __dir__() -> list[str]:
    return __all__


if not TYPE_CHECKING:
    # Hidden from type checkers, which would otherwise accept any name as an attribute.
    _PLACES = {
        "api.aggregated": "AggregatedStream GroupedStream PivotedStream",
        "api.dashboard": "Dashboard dashboard",
        "api.disordered": "DisorderedStream disordered",
        "api.matched": "MatchedStream",
        "api.optimistic": "CorrectedStream OptimisticStream",
        "api.ordered": "OrderedStream",
        "api.pattern": "Pattern event",
        "api.profile": "Profile profile",
        "api.progressive": "Answer GroupedTable ProgressiveTable progressive",
        "api.queries": "counts held listen read recall status why",
        "api.local_run": "LocalRun",
        "api.query": "Query",
        "api.temporal": "GroupedLifetimes GroupedSessions TemporalStream",
        "api.what_if": "what_if",
        "api.window_join": "JoinedStream window_join",
        "api.windowed": "DisorderedWindows WindowedStream",
        "generate.injection.delays": "Delay",
        "generate.injection.disorder": "inject_disorder",
        "generate.injection.patterns": "Drift Outage Override",
        "hosts.recall_report": "Achieved",
        "hosts.status": "Status",
        "hosts.spark.tables.delta": "delta",
        "hosts.spark.tables.kafka": "kafka",
        "hosts.spark.tables.table": "table",
        "hosts.spark.upsert.sink": "current upsert",
        "labels": "versioned",
        "report.recall_page": "recall_page",
        "report.what_if": "WhatIf",
        "runtime.session": "session",
    }
    _PLACE_OF = {name: place for place, names in _PLACES.items() for name in names.split()}
    _RENAMED = {"achieved": "recall", "disorder": "inject_disorder"}

    # The first import of the subpackage `profile` sets it as an attribute of this module. It is
    # removed again at once, so that `latecomer.profile` is the function.
    from latecomer import profile

    del profile

    def __getattr__(name: str) -> object:
        if name in _RENAMED:
            from latecomer.api.deprecated import renamed

            renamed(f"latecomer.{name}", f"latecomer.{_RENAMED[name]}")
            return getattr(sys.modules[__name__], _RENAMED[name])
        if name != "agg" and name not in _PLACE_OF:
            raise AttributeError(f"module 'latecomer' has no attribute {name!r}")
        module = import_module(f"latecomer.{_PLACE_OF.get(name, 'api.agg')}")
        globals()[name] = found = module if name == "agg" else getattr(module, name)
        return found
