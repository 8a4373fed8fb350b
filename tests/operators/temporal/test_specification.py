from __future__ import annotations

import pytest

from latecomer.operators.temporal.alter import Alter
from latecomer.operators.temporal.specification import Temporal
from latecomer.time import FOREVER, NEVER
from tests.operators.temporal.driving import LEFT


def test_most_operators_change_neither_columns_nor_progress() -> None:
    spec = Alter(5)

    assert spec.output_schema(LEFT) is LEFT
    assert [spec.passes(at) for at in (NEVER, 7, FOREVER)] == [NEVER, 7, FOREVER]
    assert spec.leads == 0


def test_by_default_operators_allow_rows_of_a_key_in_any_bucket() -> None:
    assert Alter(5).keyed is None


def test_a_checkpoint_knows_an_operator_by_all_its_settings() -> None:
    assert Alter(5).label == "Alter(duration=5)"
    assert Alter(5).label != Alter(6).label


def test_an_operator_must_say_how_it_starts() -> None:
    class Unfinished(Temporal): ...

    with pytest.raises(TypeError, match="start"):
        Unfinished()  # type: ignore[abstract]
