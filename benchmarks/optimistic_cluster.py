"""A simulated cluster that builds an inverted index, as in the paper's experiment.

    documents ─at random─▶ worker: words, positions ─by word─▶ worker: postings ─▶ barrier

Documents come at even distances in time. A worker does one thing at a time, in the order in which
things reach it: it takes a while for each document, by its length, and for each word. What goes
from one worker to another is under way for a while, in order on each link. So words of an older
document may come after those of a newer one, because it was longer, or waited longer, or was
slower on its way; and then postings were wrong and are taken back.

What the paper does not tell (how fast its machines and their network were) is assumed: `Cluster`.
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
    """How long things take, in microseconds."""

    per_document: int = 200
    per_word: int = 20
    """To find a word in a document, and to update its postings."""
    network: int = 500
    """A message is under way so long on average, exponentially, at least a tenth of it."""


def documents(number: int, words: int, length: int, seed: int) -> list[np.ndarray]:
    """Make up documents: words by Zipf's law, lengths that differ as those of articles do."""
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
        workers: How many there are.
        rate: Documents a second.
        cluster: How long things take.
        seed: Of delays, and of which worker has a document.
    """
    random = np.random.default_rng(seed)
    distinct = [np.unique(text).tolist() for text in texts]
    numbers = count()
    events: list[tuple[float, int, int, int, int]] = []
    """When what reaches which worker: a document, or (with a word) its positions."""
    for document in range(len(texts)):
        at = document * SECOND / rate + delay(random, cluster)
        heapq.heappush(events, (at, next(numbers), int(random.integers(workers)), document, -1))
    free = [0.0] * workers
    last: dict[tuple[int, int], float] = {}
    found = []
    while events:
        # A worker takes things in the order in which they reach it.
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
    """Return how many documents a second one worker can deal with."""
    work = [
        cluster.per_document + cluster.per_word * (len(text) + len(np.unique(text)))
        for text in texts
    ]
    return SECOND * len(texts) / sum(work)


def delay(random: np.random.Generator, cluster: Cluster) -> float:
    return cluster.network * (0.1 + 0.9 * float(random.exponential()))


def posted(size: int, row: Any) -> tuple[int, int]:
    """Update a posting list, of which only the size is kept here."""
    size += row.positions
    return size, size


def one_by_one(found: Words) -> int:
    """Count what comes to the barrier if each word is dealt with by itself.

    Each change of a posting list behind the place of a straggler is taken back and said again.
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
    """Build the index by the library's own steps, so many words at a time; count the same."""
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
    """Return what share of words came after one of a newer document."""
    newest: dict[int, int] = {}
    late = 0
    for document, word in found:
        late += document < newest.get(word, -1)
        newest[word] = max(document, newest.get(word, -1))
    return late / len(found)
