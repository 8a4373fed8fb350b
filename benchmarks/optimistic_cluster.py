"""A simulation of a cluster that builds an inverted index, as in the paper's experiment.

    documents ─at random─▶ worker: words, positions ─by word─▶ worker: postings ─▶ barrier

Documents arrive at even intervals. A worker processes one task at a time, in order of arrival; the
time depends on the length of a document, or is constant for a word. Messages between workers take
some time, and stay in order on each link. So words of an older document may arrive after those of a
newer one, because it was longer, waited longer, or had a slower message. Postings were wrong then,
and are retracted.

The paper does not report the speed of its machines and network; `Cluster` has the assumed values.
"""

import heapq
from bisect import bisect
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
import pyarrow as pa

from latecomer.hosts.local import MemoryChunks
from latecomer.operators.optimistic.barrier import Barrier
from latecomer.operators.optimistic.items import MARKS
from latecomer.operators.optimistic.stateful import Stateful
from latecomer.time import FOREVER, TimeColumn

SECOND = 1_000_000
Words = list[tuple[int, int]]
"""Numbers of documents, and words in them."""

TIME = TimeColumn("time", "us")
WORD = pa.schema([("time", pa.int64()), ("word", pa.int64()), ("positions", pa.int64()), *MARKS])
OUT = pa.schema([("size", pa.int64())])


@dataclass(frozen=True)
class Cluster:
    """Durations of tasks and messages, in microseconds."""

    per_document: int = 200
    per_word: int = 20
    """Time to find a word in a document, and time to update its postings."""
    network: int = 500
    """Mean time of a message: exponentially distributed, at least a tenth of this."""


def documents(number: int, words: int, length: int, seed: int) -> list[np.ndarray]:
    """Generate documents: words by Zipf's law, lengths that vary like those of articles."""
    random = np.random.default_rng(seed)
    weights = 1 / np.arange(1, words + 1)
    lengths = np.maximum(1, random.lognormal(np.log(length), 0.8, number)).astype(int)
    return [random.choice(words, size, p=weights / weights.sum()) for size in lengths]


def arrivals(
    texts: list[np.ndarray], workers: int, rate: float, cluster: Cluster, seed: int
) -> Words:
    """Return the order in which words reach the workers that keep their postings.

    Args:
        texts: The documents.
        workers: Number of workers.
        rate: Documents a second.
        cluster: Durations of tasks and messages.
        seed: Seed of delays, and of the workers of documents.
    """
    random = np.random.default_rng(seed)
    distinct = [np.unique(text).tolist() for text in texts]
    numbers = count()
    events: list[tuple[float, int, int, int, int]] = []
    """Events: the time at which a document, or a word with its positions, reaches a worker."""
    for document in range(len(texts)):
        at = document * SECOND / rate + delay(random, cluster)
        heapq.heappush(events, (at, next(numbers), int(random.integers(workers)), document, -1))
    free = [0.0] * workers
    last: dict[tuple[int, int], float] = {}
    found = []
    while events:
        # A worker processes tasks in order of arrival.
        at, _, worker, document, word = heapq.heappop(events)
        begin = max(at, free[worker])
        if word >= 0:
            free[worker] = begin + cluster.per_word
            found.append((free[worker], document, word))
            continue
        free[worker] = begin + cluster.per_document + cluster.per_word * len(texts[document])
        for each in distinct[document]:
            to = each % workers
            on_the_way = 0.0 if to == worker else delay(random, cluster)
            # A link keeps the order.
            comes = max(free[worker] + on_the_way, last.get((worker, to), 0.0))
            last[worker, to] = comes
            heapq.heappush(events, (comes, next(numbers), to, document, each))
    return [(document, word) for _, document, word in sorted(found)]


def capacity(texts: list[np.ndarray], cluster: Cluster) -> float:
    """Return how many documents a second one worker can process."""
    work = [
        cluster.per_document + cluster.per_word * (len(text) + len(np.unique(text)))
        for text in texts
    ]
    return SECOND * len(texts) / sum(work)


def delay(random: np.random.Generator, cluster: Cluster) -> float:
    return cluster.network * (0.1 + 0.9 * float(random.exponential()))


def posted(size: int, row: Any) -> tuple[int, int]:
    """Update a posting list, which is reduced to its size here."""
    size += row.positions
    return size, size


def one_by_one(found: Words) -> int:
    """Count the items that reach the barrier if words are processed one by one.

    Each change of a posting list after the place of a straggler is retracted and emitted again.
    """
    places: dict[int, list[int]] = {}
    arrived = 0
    for document, word in found:
        held = places.setdefault(word, [])
        at = bisect(held, document)
        arrived += 1 + 2 * (len(held) - at)
        held.insert(at, document)
    return arrived


def indexed(texts: list[np.ndarray], found: Words, batch: int) -> int:
    """Count the same items with the library's own steps, in micro-batches of words."""
    spec = Stateful(TIME, ("word",), posted, 0, OUT)
    running = spec.start(WORD, MemoryChunks())
    barrier = Barrier(TIME).start(spec.output_schema(WORD), MemoryChunks())
    for start in range(0, len(found), batch):
        documents, words = zip(*found[start : start + batch], strict=True)
        nothing = [0] * len(words)
        positions = [
            np.count_nonzero(texts[document] == word)
            for document, word in found[start : start + batch]
        ]
        columns = [documents, words, positions, [1] * len(words), words, nothing, nothing]
        barrier.push(running.push(pa.table([*map(pa.array, columns)], schema=WORD)).ready)
    assert barrier.advance(FOREVER).ready.num_rows == len(found)
    return barrier.arrived


def out_of_order(found: Words) -> float:
    """Return the share of words that arrived after a word of a newer document."""
    newest: dict[int, int] = {}
    late = 0
    for document, word in found:
        late += document < newest.get(word, -1)
        newest[word] = max(document, newest.get(word, -1))
    return late / len(found)
