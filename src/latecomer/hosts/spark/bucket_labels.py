"""Bucket labels that Spark spreads evenly.

Spark sends a group to partition `hash(label) mod partitions`. Labels 0, 1, 2 … would collide: of
two buckets on two partitions both may end up on one, and half the machine idles. Spark's hash of
an int (Murmur3, seed 42) is a permutation of the 32-bit numbers, so it can be run backwards: the
label of bucket `b` is the number that hashes to `b`, and bucket `b` goes to partition
`b mod partitions`, for any number of partitions.
"""

from functools import cache

import numpy as np
import numpy.typing as npt

_MASK = 0xFFFFFFFF
_SEED = 42
_BYTES = 4

# The multipliers of Murmur3 (public domain, A. Appleby), and their inverses mod 2^32.
_C1, _C2 = 0xCC9E2D51, 0x1B873593
_F1, _F2 = 0x85EBCA6B, 0xC2B2AE35


def _inverse(odd: int) -> int:
    return pow(odd, -1, _MASK + 1)


def _rotate(x: int, by: int) -> int:
    return (x << by | x >> (32 - by)) & _MASK


def label(bucket: int) -> int:
    """Return the int whose Spark hash is `bucket`."""
    h = bucket & _MASK
    # Undo the final mixing: each xor-shift and each odd multiplier has an inverse.
    h ^= h >> 16
    h = h * _inverse(_F2) & _MASK
    h ^= h >> 13 ^ h >> 26
    h = h * _inverse(_F1) & _MASK
    h ^= h >> 16
    h ^= _BYTES
    # Undo the round that took in the number.
    h = (h - 0xE6546B64) * _inverse(5) & _MASK
    k = _rotate(h, 32 - 13) ^ _SEED
    k = k * _inverse(_C2) & _MASK
    k = _rotate(k, 32 - 15)
    k = k * _inverse(_C1) & _MASK
    return k - (_MASK + 1) if k > _MASK >> 1 else k


@cache
def labels(buckets: int) -> npt.NDArray[np.int32]:
    """Return the labels of buckets 0 to `buckets - 1`."""
    return np.array([label(bucket) for bucket in range(buckets)], np.int32)
