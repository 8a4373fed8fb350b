"""Named arrays as bytes: the format in which a running computation is saved in a checkpoint.

    {"newest": 7, "times": [3, 5]}   ─▶  one line of JSON (names, types, shapes), then the bytes

Nested arrays have names with a dot: `nested("left", {"times": …})` is `{"left.times": …}`, and
`part("left", …)` removes the prefix again.
"""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Arrays = dict[str, npt.NDArray[Any]]

_HEADER = b'{"arrays": '


def nested(name: str, arrays: Mapping[str, npt.NDArray[Any]]) -> Arrays:
    """Return the arrays with a prefix before each of their names."""
    return {f"{name}.{inner}": array for inner, array in arrays.items()}


def part(name: str, arrays: Mapping[str, npt.NDArray[Any]]) -> Arrays:
    """Return the arrays that were nested under a name."""
    start = f"{name}."
    return {key[len(start) :]: each for key, each in arrays.items() if key.startswith(start)}


def write_arrays(arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """Return arrays of numbers as compressed bytes."""
    shapes = {name: [each.dtype.str, list(each.shape)] for name, each in arrays.items()}
    body = b"".join(np.ascontiguousarray(each).tobytes() for each in arrays.values())
    header = json.dumps({"arrays": shapes, "bytes": len(body)}).encode()
    return header + b"\n" + pa.compress(body, codec="lz4_raw", asbytes=True)


def are_arrays(written: bytes) -> bool:
    """Return True for what `write_arrays` wrote, and False for what `batch.encode` wrote.

    Encoded rows begin with a checksum, of which any byte may be that of a bracket. The next four
    are those with which every Arrow stream begins; none of them is in a text.
    """
    return written.startswith(_HEADER)


def read_arrays(written: bytes) -> Arrays:
    """Return the arrays that `write_arrays` wrote; they are writable."""
    first, _, rest = written.partition(b"\n")
    header = json.loads(first)
    body = pa.decompress(rest, header["bytes"], codec="lz4_raw", asbytes=True)
    found, start = {}, 0
    for name, (kind, shape) in header["arrays"].items():
        count = int(np.prod(shape, dtype=np.int64))
        found[name] = np.frombuffer(body, kind, count, start).reshape(shape).copy()
        start += found[name].nbytes
    return found
