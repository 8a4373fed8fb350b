from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from latecomer.operators.temporal.conditions import Condition
from latecomer.operators.window_join.buffer_size_manager import Quality
from latecomer.operators.window_join.equalities import Equalities
from latecomer.operators.window_join.joiner import WindowJoin
from latecomer.operators.window_join.quality_join import Input, QualityJoin
from latecomer.time import TimeColumn

SCHEMAS = [
    pa.schema(
        {"at": pa.timestamp("ms"), "user": pa.string(), "x": pa.float64(), "tag": pa.string()}
    ),
    pa.schema({"at": pa.timestamp("us"), "who": pa.string(), "y": pa.float64()}),
]
JOIN = QualityJoin(
    (Input("views", TimeColumn("at")), Input("clicks", TimeColumn("at"))),
    WindowJoin((5, 9), Equalities.common("user", "who")),
    "recall",
    Quality(0.9),
)


def test_results_have_a_time_and_all_columns_under_the_names_of_their_streams() -> None:
    schema = JOIN.output_schema(SCHEMAS)

    assert schema.names == [
        *("time", "views_at", "views_user", "views_x", "views_tag"),
        *("clicks_at", "clicks_who", "clicks_y"),
    ]
    assert schema.field("time").type == pa.timestamp("ms")
    assert schema.field("clicks_at").type == pa.timestamp("us")


def test_rows_are_joined_by_the_columns_of_the_equalities_alone() -> None:
    assert JOIN.needed(SCHEMAS) == [["user"], ["who"]]


def test_a_condition_may_read_all_columns_that_it_can_be_compiled_for() -> None:
    compiled = replace(JOIN.join, where=Condition(lambda view, click: view.x < click.y))
    called = replace(JOIN.join, where=Condition(lambda view, click: view[2] < click.y))

    assert replace(JOIN, join=compiled).needed(SCHEMAS) == [["at", "user", "x"], ["at", "who", "y"]]
    assert replace(JOIN, join=called).needed(SCHEMAS) == [
        ["at", "user", "x", "tag"],
        ["at", "who", "y"],
    ]


def test_a_recall_is_a_target_and_a_wait_is_none() -> None:
    assert JOIN.target == 0.9
    assert replace(JOIN, wait=5).target is None
    assert replace(JOIN, wait="max").target is None


def test_a_checkpoint_identifies_a_join_by_all_that_changes_its_results() -> None:
    others = [
        replace(JOIN, wait="max"),
        replace(JOIN, quality=Quality(0.8)),
        replace(JOIN, join=WindowJoin((5, 8), JOIN.join.on)),
        replace(JOIN, streams=(JOIN.streams[0], Input("taps", TimeColumn("at")))),
    ]

    assert len({JOIN.label, *(other.label for other in others)}) == 5
