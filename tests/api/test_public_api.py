"""The public names. Adding one is a decision, and removing one breaks users' jobs."""

import inspect
from pathlib import Path

import latecomer as lc
from latecomer import testing

ROOT = Path(__file__).parents[2]


def test_the_public_names_are_these() -> None:
    assert sorted(lc.__all__) == [
        "Achieved",
        "AggregateOverflowError",
        "AggregatedStream",
        "Answer",
        "ArrivalError",
        "ChangedTableError",
        "ClockError",
        "ColumnNameError",
        "ColumnNotFoundError",
        "ColumnTypeError",
        "ConditionError",
        "CorrectedStream",
        "Dashboard",
        "Delay",
        "DisorderedStream",
        "DisorderedWindows",
        "Drift",
        "DurationError",
        "FractionWarning",
        "GroupedLifetimes",
        "GroupedSessions",
        "GroupedStream",
        "GroupedTable",
        "HeldLimitError",
        "IdentityWarning",
        "JavaNotFoundError",
        "JoinedStream",
        "LateRowError",
        "LateRowsWarning",
        "LatecomerError",
        "LocalRun",
        "MatchedStream",
        "MissingPackageError",
        "OptimisticStream",
        "OptionError",
        "OrderError",
        "OrderedStream",
        "Outage",
        "Override",
        "OwnerError",
        "PartitionsWarning",
        "Pattern",
        "PatternError",
        "PivotedStream",
        "Profile",
        "ProgressiveTable",
        "Query",
        "QueryFailedError",
        "SessionError",
        "StateFormatError",
        "StateStoreError",
        "Status",
        "StepError",
        "TemporalStream",
        "TombstoneError",
        "UnreadRowsError",
        "UpdateError",
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


def test_dir_shows_the_public_names_only() -> None:
    assert set(dir(lc)) == set(lc.__all__)


def test_the_signatures_are_these() -> None:
    assert list(inspect.signature(lc.disordered).parameters) == [
        "df",
        "time",
        "key",
        "end",
        "edges",
        "arrival",
        "ahead",
        "unit",
        "clock",
        "idle",
        "sources",
        "promise",
        "before_1970",
        "redact",
        "held_limit",
        "schema",
        "streaming",
    ]
    assert list(inspect.signature(lc.inject_disorder).parameters) == [
        "rows",
        "time",
        "fraction",
        "delay",
        "seed",
        "arrival",
        "unit",
        "patterns",
        "report",
    ]
    assert list(inspect.signature(lc.profile).parameters) == [
        "rows",
        "time",
        "arrival",
        "key",
        "unit",
    ]
    assert list(inspect.signature(lc.progressive).parameters) == [
        "df",
        "steps",
        "by",
        "seed",
        "confidence",
    ]
    assert list(inspect.signature(lc.session).parameters) == ["app_name", "master", "config"]
    runs = [
        list(inspect.signature(owner.run).parameters)
        for owner in (lc.OrderedStream, lc.TemporalStream, lc.JoinedStream)
    ]
    assert runs == [
        ["self", "batches", "end", "threads"],
        ["self", "batches", "end", "edges", "threads"],
        ["self", "batches", "end", "threads"],
    ]
    methods = {
        owner.__name__: sorted(n for n in vars(owner) if not n.startswith("_"))
        for owner in (
            lc.DisorderedStream,
            lc.DisorderedWindows,
            lc.WindowedStream,
            lc.OrderedStream,
            lc.GroupedStream,
            lc.AggregatedStream,
            lc.GroupedLifetimes,
            lc.GroupedSessions,
            lc.OptimisticStream,
        )
    }
    assert methods == {
        "DisorderedStream": [
            "hopping",
            "lifetime",
            "optimistic",
            "profile_df",
            "sort",
            "tumbling",
        ],
        "DisorderedWindows": ["sort", "wait", "windows"],
        "WindowedStream": [
            "aggregate",
            "apply",
            "buckets",
            "df",
            "explain",
            "group_by",
            "only_changes",
            "plan",
            "windows",
        ],
        "OrderedStream": ["detect", "distinct", "group_by", "temporal"],
        "GroupedStream": ["aggregate", "explain", "keys", "of", "pivot"],
        "AggregatedStream": ["aggregation", "changed", "group_by", "migrate", "over", "start"],
        "GroupedLifetimes": ["aggregate", "apply", "keys", "of", "sessions"],
        "GroupedSessions": ["aggregate", "closing", "keys", "of"],
        "OptimisticStream": [
            "barrier",
            "buckets",
            "changelog",
            "changelog_df",
            "df",
            "explain",
            "flat_map",
            "grouping",
            "plan",
            "stateful",
        ],
    }
    before_any_wait = {"clock", "df", "explain", "idle", "source"}
    before_any_wait |= {"select", "select_many", "where", "with_columns"}
    assert before_any_wait <= set(dir(lc.DisorderedStream)) & set(dir(lc.DisorderedWindows))
    assert [n for n in dir(lc.Answer) if not n.startswith("_")] == [
        "is_final",
        "of",
        "rows",
        "share",
        "table",
        "to_df",
    ]
    assert list(inspect.signature(lc.OrderedStream.detect).parameters) == [
        "self",
        "pattern",
        "within",
        "by",
        "contiguity",
        "overlap",
    ]
    assert {name for name in dir(lc.Pattern) if not name.startswith("_")} == {
        "absent",
        "absent_where",
        "automaton",
        "optional",
        "or_",
        "plus",
        "shape",
        "silence",
        "span",
        "star",
        "then",
        "then_none",
        "times",
        "within",
    }
    lifetimes = {
        "alter",
        "anti_join",
        "asof_join",
        "chop",
        "clip",
        "extend",
        "full_join",
        "join",
        "left_join",
        "point_at_end",
        "quantize",
        "session",
        "shift",
        "stitch",
        "temporal",
        "union",
        "until_next",
    }
    reading = {"buckets", "df", "dfs", "explain", "formatted", "late_df", "plan", "recall_df"}
    reading |= {"migrate", "packed_df", "run", "start", "to_df"}
    rows = reading | {"where", "with_columns"}
    assert {name for name in dir(lc.OrderedStream) if not name.startswith("_")} == (
        lifetimes | rows | {"detect", "distinct", "group_by"}
    )
    assert {name for name in dir(lc.TemporalStream) if not name.startswith("_")} == (
        lifetimes
        | rows
        | {"changed", "checked", "dated", "group_by", "groups", "known_plan", "schema", "told"}
    )


def test_the_names_for_tests_are_these() -> None:
    assert sorted(testing.__all__) == [
        "Seen",
        "TIME",
        "late",
        "play",
        "ready",
        "replay",
        "rows",
        "same_under_disorder",
        "watermark",
    ]


def test_every_error_is_ours_and_a_built_in() -> None:
    errors = [getattr(lc, name) for name in lc.__all__ if name.endswith("Error")]
    for error in errors:
        assert issubclass(error, lc.LatecomerError)
        others = [base for base in error.__mro__ if base.__module__ == "builtins"]
        assert error is lc.LatecomerError or others[0] is not Exception


def test_the_version_is_that_of_the_project() -> None:
    assert f'version = "{lc.__version__}"' in (ROOT / "pyproject.toml").read_text()
