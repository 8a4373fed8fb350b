"""Distributions of delays, each with its quantiles and the share below a delay."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from latecomer.time import Times

Floats = npt.NDArray[np.float64]

LAST_BELOW_1 = float(np.nextafter(1.0, 0.0))
_STANDARD = NormalDist()


class Shape(Protocol):
    """A distribution of delays before it is cut to a minimum and a maximum."""

    def below(self, delay: int) -> float:
        """Return the share of delays that are shorter than this one."""

    def quantile(self, shares: Floats) -> Floats | Times:
        """Return the quantile of each share."""


@dataclass(frozen=True, slots=True)
class Uniform:
    """Delays from `least` to `most`, all equally likely."""

    least: int
    most: int

    def below(self, delay: int) -> float:
        return min(max((delay - self.least) / (self.most + 1 - self.least), 0.0), 1.0)

    def quantile(self, shares: Floats) -> Floats:
        return np.floor(self.least + shares * (self.most + 1 - self.least))


@dataclass(frozen=True, slots=True)
class Exponential:
    """Delays of which short ones are common; each further `mean` makes them 2.7 times rarer."""

    mean: int

    def below(self, delay: int) -> float:
        return -float(np.expm1(-delay / self.mean))

    def quantile(self, shares: Floats) -> Floats:
        return -self.mean * np.log1p(-shares)


@dataclass(frozen=True, slots=True)
class Normal:
    """Delays around a mean. The minimum is never below 0, so negative ones are cut off."""

    mean: int
    deviation: int

    def below(self, delay: int) -> float:
        return _STANDARD.cdf((delay - self.mean) / self.deviation)

    def quantile(self, shares: Floats) -> Floats:
        return self.mean + self.deviation * _standard_normal(shares)


@dataclass(frozen=True, slots=True)
class Lognormal:
    """Delays whose logarithms are normal: most are near the median, a few are very long."""

    median: int
    sigma: float

    def below(self, delay: int) -> float:
        return _STANDARD.cdf(float(np.log(delay / self.median)) / self.sigma) if delay else 0.0

    def quantile(self, shares: Floats) -> Floats:
        return self.median * np.exp(self.sigma * _standard_normal(shares))


def _standard_normal(shares: Floats) -> Floats:
    inside = np.maximum(shares, 1 - LAST_BELOW_1).tolist()
    return np.fromiter(map(_STANDARD.inv_cdf, inside), np.float64, len(inside))


@dataclass(frozen=True, slots=True)
class Listed:
    """Delays from an ascending list, each with the share of delays up to and including it."""

    values: Times
    ends: Floats

    @classmethod
    def weighted(cls, values: Times, weights: Floats) -> Listed:
        """Return the distribution of values with these weights."""
        ends = np.cumsum(weights)
        return cls(values, ends / ends[-1])

    def below(self, delay: int) -> float:
        at = int(np.searchsorted(self.values, delay))
        return float(self.ends[at - 1]) if at else 0.0

    def quantile(self, shares: Floats) -> Times:
        return self.values[np.searchsorted(self.ends[:-1], shares, side="right")]
