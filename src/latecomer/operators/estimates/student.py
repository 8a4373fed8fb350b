"""Quantiles of Student's t, for the bounds of means of few values.

Paper: M. Abramowitz, I. A. Stegun, "Handbook of Mathematical Functions", 1964, 26.7.5.
Symbols: x_p → `z`; ν → `freedom`.
Departures: for one and two degrees of freedom, where the series is poor, the exact formulas.
"""

from statistics import NormalDist

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]


def normal(confidence: float) -> float:
    """Return how many standard deviations on either side enclose a share of normal values."""
    return NormalDist().inv_cdf((1 + confidence) / 2)


def student(confidence: float, freedom: Numbers) -> Numbers:
    """Return the same for means of `freedom + 1` values, whose spread is only estimated."""
    z = normal(confidence)
    v = np.maximum(freedom, 1.0)
    series = (
        z
        + (z**3 + z) / (4 * v)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * v**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * v**3)
        + (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / (92160 * v**4)
    )
    one = np.tan(np.pi * confidence / 2)
    two = confidence * np.sqrt(2 / (1 - confidence**2))
    return np.select([v < 2, v < 3], [one, two], series)  # noqa: PLR2004
