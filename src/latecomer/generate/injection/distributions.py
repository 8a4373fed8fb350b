"""Distributions of delays, as their quantiles and the shares below a delay."""

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
    """A distribution of delays before anything is cut off."""

    def below(self, delay: int) -> float:
        """Compute the share of delays that are shorter than this one."""

    def quantile(self, shares: Floats) -> Floats | Times:
        """Compute the delays that these shares do not exceed."""


@dataclass(frozen=True, slots=True)
class Uniform:
    """Every delay from `least` up to `most` is as likely as any other."""

    least: int
    most: int

    def below(self, delay: int) -> float:
        return min(max((delay - self.least) / (self.most + 1 - self.least), 0.0), 1.0)

    def quantile(self, shares: Floats) -> Floats:
        return np.floor(self.least + shares * (self.most + 1 - self.least))


@dataclass(frozen=True, slots=True)
class Exponential:
    """Short delays are common; each further `mean` is 2.7 times rarer than the one before."""

    mean: int

    def below(self, delay: int) -> float:
        return -float(np.expm1(-delay / self.mean))

    def quantile(self, shares: Floats) -> Floats:
        return -self.mean * np.log1p(-shares)


@dataclass(frozen=True, slots=True)
class Normal:
    """Delays around a mean. Negative ones are cut off by the minimum, which is never below 0."""

    mean: int
    deviation: int

    def below(self, delay: int) -> float:
        return _STANDARD.cdf((delay - self.mean) / self.deviation)

    def quantile(self, shares: Floats) -> Floats:
        return self.mean + self.deviation * _standard_normal(shares)


@dataclass(frozen=True, slots=True)
class Lognormal:
    """Delays whose logarithms are normal: most near the median, a few very long."""

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
    """Delays out of an ascending list, with the share of all that are at or before each."""

    values: Times
    ends: Floats

    @classmethod
    def weighted(cls, values: Times, weights: Floats) -> Listed:
        """Give each of the values its weight."""
        ends = np.cumsum(weights)
        return cls(values, ends / ends[-1])

    def below(self, delay: int) -> float:
        at = int(np.searchsorted(self.values, delay))
        return float(self.ends[at - 1]) if at else 0.0

    def quantile(self, shares: Floats) -> Times:
        return self.values[np.searchsorted(self.ends[:-1], shares, side="right")]
