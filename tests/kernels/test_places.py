import numpy as np

from latecomer.kernels.places import find_rows


def test_rows_are_found_by_their_streams_and_numbers() -> None:
    # Stream 0 has the rows 3, 4 and 5, stream 1 none, stream 2 the rows 0, 7, 8 and 20.
    numbers, starts = np.array([3, 4, 5, 0, 7, 8, 20]), np.array([0, 3, 3, 7])
    streams, rows = np.array([0, 0, 2, 2, 2, 2]), np.array([5, 3, 0, 20, 8, 7])

    assert find_rows(streams, rows, numbers, starts).tolist() == [2, 0, 3, 6, 5, 4]
