from __future__ import annotations

from latecomer.operators.optimistic.changelog import Changelog
from latecomer.time import FOREVER, NEVER


def test_most_steps_mind_no_key_and_keep_the_columns_of_one() -> None:
    assert Changelog().keyed is None
    assert Changelog().keeps_keys


def test_what_a_watermark_makes_final_is_final_behind_a_step() -> None:
    assert [Changelog().passes(at) for at in (NEVER, 7, FOREVER)] == [NEVER, 7, FOREVER]
