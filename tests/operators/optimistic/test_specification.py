from __future__ import annotations

from latecomer.operators.optimistic.changelog import Changelog
from latecomer.time import FOREVER, NEVER


def test_by_default_steps_ignore_keys_and_keep_their_columns() -> None:
    assert Changelog().keyed is None
    assert Changelog().keeps_keys


def test_by_default_a_step_passes_the_watermark_on() -> None:
    assert [Changelog().passes(at) for at in (NEVER, 7, FOREVER)] == [NEVER, 7, FOREVER]
