from __future__ import annotations

import pytest

from latecomer.operators.optimistic.changelog import Changelog
from latecomer.operators.optimistic.specification import Optimistic
from latecomer.time import FOREVER, NEVER


def test_most_steps_mind_no_key_and_keep_the_columns_of_one() -> None:
    assert Changelog().keyed is None
    assert Changelog().keeps_keys


def test_what_a_watermark_makes_final_is_final_behind_a_step() -> None:
    assert [Changelog().passes(at) for at in (NEVER, 7, FOREVER)] == [NEVER, 7, FOREVER]


def test_a_step_must_say_what_a_checkpoint_knows_of_it() -> None:
    class Unfinished(Optimistic): ...

    with pytest.raises(TypeError, match="label"):
        Unfinished()  # type: ignore[abstract]
