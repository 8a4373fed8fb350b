from collections.abc import Callable, Sequence

import pytest

from latecomer.generate.injection.fraction import Found, find_share

ROWS = 1_000_000


def found(
    fraction: float, of_share: Callable[[float], float], rows: int = ROWS
) -> tuple[Found, Found]:
    def count(shares: Sequence[float]) -> list[tuple[int, int]]:
        return [(int(of_share(share) * rows), int(share * rows)) for share in shares]

    return find_share(fraction, rows, count)


@pytest.mark.parametrize("fraction", [0.0, 0.001, 0.05, 0.3, 0.77, 1.0])
def test_the_share_that_gives_the_fraction_is_found(fraction: float) -> None:
    best, undelayed = found(fraction, lambda share: share)

    assert best.out_of_order / ROWS == pytest.approx(fraction, abs=0.0002)
    assert undelayed == Found(0, 0, 0)


def test_the_first_of_two_such_shares_is_found() -> None:
    best, _ = found(0.2, lambda share: share * (1 - share))

    assert best.out_of_order / ROWS == pytest.approx(0.2, abs=0.0002)
    assert best.share < 0.5


def test_where_no_share_gives_the_fraction_the_closest_does() -> None:
    best, _ = found(0.5, lambda share: share * (1 - share))

    assert best.out_of_order / ROWS == pytest.approx(0.25, abs=0.0002)


def test_a_narrow_peak_between_two_tries_is_climbed() -> None:
    best, _ = found(0.9, lambda share: max(0.0, 0.9 - 5 * abs(share - 0.3)))

    assert best.out_of_order / ROWS == pytest.approx(0.9, abs=0.0005)


def test_rows_that_are_already_out_of_order_are_not_delayed() -> None:
    best, undelayed = found(0.3, lambda share: 0.4 + share / 2)

    assert best == undelayed == Found(0, 400_000, 0)


@pytest.mark.parametrize("rows", [0, 1, 2, 10])
def test_few_rows_come_as_close_as_they_can(rows: int) -> None:
    best, _ = found(0.3, lambda share: share, rows)

    assert abs(best.out_of_order - 0.3 * rows) <= 0.5
