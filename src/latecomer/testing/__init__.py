"""Test with disorder: operators, and your own pipelines.

For operators, a notation in which a test reads like the timeline it is about:

    seen = play(Sort(TIME), rows(5, 3, 4), watermark(5), rows(2))
    assert seen == [ready(3, 4, 5), late(2)]

For pipelines, `same_under_disorder` runs yours on ordered and on disordered arrivals and compares.
Strategies for Hypothesis are in `latecomer.testing.strategies`.
"""

from latecomer.testing.notation import TIME, Seen, late, play, ready, replay, rows, watermark
from latecomer.testing.pipelines import same_under_disorder

__all__ = [
    "TIME",
    "Seen",
    "late",
    "play",
    "ready",
    "replay",
    "rows",
    "same_under_disorder",
    "watermark",
]
