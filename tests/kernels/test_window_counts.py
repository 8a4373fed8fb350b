from __future__ import annotations

import numpy as np

from latecomer.kernels.window_counts import count_results


def counted(
    rows: list[tuple[int, int]],
    codes: list[list[int]],
    windows: list[int],
    *,
    centre: int = -1,
    probes: list[bool] | None = None,
    inserted: list[bool] | None = None,
) -> tuple[list[float], list[float]]:
    """Count what rows (a stream and a time each) find; left out, all of them probe and stay.

    New rows begin with the first that probes.
    """
    streams, times = np.array(rows).T.copy()
    everyone = [True] * len(rows)
    probes = probes or everyone
    cross, joined = count_results(
        (streams, times, np.argsort(times, kind="stable")),
        (probes.index(True), np.array(probes), np.array(inserted or everyone)),
        np.array(windows),
        np.array(codes),
        centre,
    )
    return cross.tolist(), joined.tolist()


def test_a_row_meets_those_of_the_other_stream_that_are_in_the_window() -> None:
    rows = [(0, 0), (0, 1), (1, 5), (1, 6), (1, 7)]
    codes = [[0, 0, -1, -1, -1], [-1, -1, 0, 0, 0]]

    # A row that is exactly as old as the window is long is still in it.
    cross, joined = counted(rows, [[0] * 5] * 2, [5, 5])
    assert cross == joined == [0, 0, 2, 1, 0]

    # A row finds its partners under the code that it has in their line.
    _, joined = counted(rows, codes, [5, 5])
    assert joined == [0, 0, 0, 0, 0]


def test_rows_join_if_their_keys_are_equal_and_null_equals_nothing() -> None:
    rows = [(0, 1), (0, 1), (0, 1), (1, 2), (1, 2), (1, 2)]
    keys = [0, 1, -1, 0, 2, -1]

    cross, joined = counted(rows, [keys, keys], [9, 9])

    assert cross == [0, 0, 0, 3, 3, 3]
    assert joined == [0, 0, 0, 1, 0, 0]


def test_a_common_key_of_three_streams_gives_a_product() -> None:
    rows = [(0, 1), (0, 2), (1, 3), (1, 4), (1, 5), (2, 6)]

    cross, joined = counted(rows, [[0, 0, 0, 0, 1, 0]] * 3, [9, 9, 9])

    assert cross == [0, 0, 0, 0, 0, 6]
    assert joined == [0, 0, 0, 0, 0, 4]


def test_a_row_of_a_star_finds_partners_through_the_rows_of_the_centre() -> None:
    # The centre is stream 0. It shares one key with stream 1 and another with stream 2.
    rows = [(0, 1), (0, 2), (1, 3), (2, 4), (2, 5), (1, 6)]
    with_1 = [0, 1, 0, -1, -1, 1]
    with_2 = [0, 0, -1, 0, 1, -1]

    cross, joined = counted(rows, [[-1] * 6, with_1, with_2], [9, 9, 9], centre=0)

    assert cross == [0, 0, 0, 2, 2, 4]
    # At 4: the row of the centre at 1 has a partner in stream 1, that at 2 has none.
    # At 6: the row of the centre at 2 has the partner at 4; the one at 5 has another key.
    assert joined == [0, 0, 0, 1, 0, 1]


def test_a_row_of_the_centre_that_has_left_its_window_is_met_by_none() -> None:
    rows = [(0, 1), (1, 2), (0, 4), (1, 8)]

    _, joined = counted(rows, [[-1] * 4, [0] * 4], [4, 9], centre=0)

    assert joined == [0, 1, 1, 1]


def test_a_row_of_the_centre_multiplies_what_it_finds() -> None:
    rows = [(1, 1), (1, 1), (2, 2), (0, 3)]

    _, joined = counted(rows, [[-1] * 4, [0, 0, -1, 0], [-1, -1, 0, 0]], [9] * 3, centre=0)

    assert joined == [0, 0, 0, 2]


def test_counts_are_of_new_rows_that_probe() -> None:
    rows = [(0, 1), (1, 2), (1, 3), (0, 4)]

    cross, _ = counted(rows, [[0] * 4] * 2, [9, 9], probes=[False, True, False, True])

    assert cross == [1, 0, 2]


def test_a_row_that_is_not_inserted_is_found_by_none() -> None:
    rows = [(0, 1), (0, 1), (1, 2)]

    cross, joined = counted(rows, [[0] * 3] * 2, [9, 9], inserted=[True, False, True])

    assert cross == joined == [0, 0, 1]


def test_more_results_than_an_integer_holds_are_counted() -> None:
    many = 13
    rows = [(stream, 0) for stream in range(many) for _ in range(32)] + [(many, 0)]
    probes = [False] * 32 * many + [True]

    cross, joined = counted(rows, [[0] * len(rows)] * (many + 1), [1] * (many + 1), probes=probes)

    assert cross == joined == [2.0**65]
