"""The misses that the next step may have. For long runs see `test_adaptation`."""

import pytest

from latecomer.waits.controller import FEW_STEPS, LAX, SATURATED, Controller


def after(recall: float, steps: int, rows: int, missed: int, longest: int = 0) -> Controller:
    controller = Controller(recall)
    for _ in range(steps):
        controller.learn(rows, missed, longest)
    return controller


def test_the_excess_is_the_number_of_misses_beyond_the_allowed_ones() -> None:
    assert after(0.9, steps=10, rows=100, missed=12).excess == pytest.approx(20)


def test_the_allowed_misses_fall_as_the_excess_grows() -> None:
    allowed = [after(0.9, 200, 100, missed).allowed for missed in (9, 10, 11, 15)]

    assert allowed == sorted(allowed, reverse=True)
    assert allowed[1] == pytest.approx(after(0.9, 200, 100, 10).sure)
    assert allowed[-1] < allowed[1] / 2


def test_unused_misses_are_kept_up_to_one_scale_and_spent_by_a_fifth_more() -> None:
    calm = after(0.9, steps=500, rows=1_000, missed=0)

    assert calm.excess == -calm.scale
    assert calm.allowed == pytest.approx(LAX * calm.sure)


def test_an_excess_first_uses_up_the_misses_held_back_by_doubt() -> None:
    young = after(0.9, steps=FEW_STEPS, rows=1_000, missed=105)
    assert 0.5 < young.correction < 1
    assert young.allowed == young.sure

    strained = after(0.9, steps=FEW_STEPS, rows=1_000, missed=250)
    assert strained.correction < 0.5
    assert strained.correction <= strained.allowed / strained.sure < 0.9


def test_few_rows_and_few_micro_batches_are_not_trusted() -> None:
    assert after(0.9, FEW_STEPS, 10_000, 0).sure == pytest.approx(0.05, rel=0.02)
    # One of ten thousand rows may be missed, plus or minus one.
    assert after(0.9999, 10_000, 1, 0).sure == pytest.approx(0.5e-4)


def test_beyond_three_scales_the_wait_only_grows_until_the_excess_has_fallen() -> None:
    controller = Controller(0.9)
    controller.learn(30, 30, 8_000)
    assert controller.floor == 0
    controller.learn(30, 30, 8_000)
    assert controller.excess > SATURATED * controller.scale
    assert controller.floor == 10_000

    controller.learn(10, 1, 40_000)
    controller.learn(10, 1, 20_000)
    controller.learn(10, 0, 90_000)
    assert controller.floor == 50_000

    while controller.excess > SATURATED * controller.scale:
        assert controller.floor == 50_000
        controller.learn(10, 0, 0)
    assert controller.floor == 0


def test_the_memory_is_as_long_as_a_recall_needs_and_never_ends_for_a_recall_of_1() -> None:
    assert Controller(0.9).memory == 10_000
    assert Controller(0.999).memory == pytest.approx(50_000)
    assert Controller(1.0).kept(10**9) == 1
    assert Controller(1.0).allowed == 0


def test_many_small_micro_batches_are_remembered_by_rows_and_large_ones_by_number() -> None:
    assert after(0.9, 100_000, 1, 0).remembered == pytest.approx(10_000, rel=0.001)
    assert after(0.9, 1_000, 10**6, 0).remembered == pytest.approx(48.5e6, rel=0.001)


def test_saved_and_loaded_it_is_the_same() -> None:
    controller, other = after(0.9, 3, 50, 40, 9_000), Controller(0.9)
    other.load(controller.save())

    assert vars(other) == vars(controller)
