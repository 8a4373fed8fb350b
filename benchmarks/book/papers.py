"""The results that the papers report, with their places.

Only numbers from tables and text are here, none read from figures. A paper's "x % faster" is
1 + x/100 times the throughput. All of them were measured on other machines, and on data that is
simulated here.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Told:
    """A value reported by a paper."""

    value: float
    place: str
    bound: str = ""
    """Its qualifier: "up to", "at least", "below", "about"; empty for an exact value."""


@dataclass(frozen=True, slots=True)
class Paper:
    """The authors, title and place of a paper."""

    short: str
    reference: str


IMPATIENCE = Paper(
    "Impatience sort",
    "Chandramouli, Goldstein, Li: *Impatience Is a Virtue: Revisiting Disorder in High-Performance "
    "Log Analytics* (ICDE 2018)",
)
JOINS = Paper(
    "Quality-driven joins",
    "Ji, Sun, Nica, Jerzak, Hackenbroich, Fetzer: *Quality-Driven Disorder Handling for m-way "
    "Sliding Window Stream Joins* (ICDE 2016)",
)
OPTIMISTIC = Paper(
    "Optimistic",
    "Kuralenok, Marshalkin, Trofimov, Novikov: *An Optimistic Approach to Handle Out-of-Order "
    "Events within Analytical Stream Processing*",
)
GENERATOR = Paper(
    "The generator",
    "Grulich and others: *Generating Reproducible Out-of-Order Data Streams* (DEBS 2019)",
)
TRILL = Paper(
    "Trill",
    "Chandramouli and others: *Trill: A High-Performance Analytical Data Processing Engine*",
)
NEXMARK = Paper(
    "Nexmark",
    "Tucker, Tufte, Papadimos, Maier: *NEXMark: A Benchmark for Queries over Data Streams* (2008), "
    "and the queries that Apache Beam added; events are our own",
)

_I, _II = "Table I", "Table II"
_OFFLINE, _ONLINE, _PLANS = "Section VI-B1", "Section VI-B2", "Section VI-C"
_WAITS = "Section VI-D"

TABLE_1 = {
    ("cloud", "inversions"): Told(53_541_688_892, _I),
    ("cloud", "distance"): Told(13_635_714, _I),
    ("cloud", "runs"): Told(7_382_495, _I),
    ("cloud", "interleaved"): Told(387, _I),
    ("android", "inversions"): Told(73_004_914_227_284, _I),
    ("android", "distance"): Told(19_990_056, _I),
    ("android", "runs"): Told(5_560, _I),
    ("android", "interleaved"): Told(227, _I),
}
OFFLINE = {"cloud": Told(1.362, _OFFLINE), "android": Told(1.246, _OFFLINE)}
"""Throughput over that of the best competitor."""
HUFFMAN = Told(1.3, _OFFLINE, "up to")
SPECULATION = Told(1.15, _OFFLINE, "up to")
ONLINE = {
    "synthetic": (Told(1.3, _ONLINE), Told(2.1, _ONLINE)),
    "cloud": (Told(1.3, _ONLINE), Told(4.4, _ONLINE)),
    "android": (Told(1.3, _ONLINE), Told(7.9, _ONLINE)),
}
"""Throughput over that of the best competitor: the lowest and highest of all intervals."""
PLANS = {
    "selection": Told(7.0, _PLANS, "up to"),
    "projection": Told(1.5, _PLANS, "up to"),
    "window": Told(2.4, _PLANS, "up to"),
}
COMPLETENESS = {
    ("cloud", "1 second"): Told(98.1, _II),
    ("cloud", "1 hour"): Told(100.0, _II),
    ("android", "10 minutes"): Told(20.5, _II),
    ("android", "1 day"): Told(92.2, _II),
}
OVER_BASIC = {
    ("cloud", "Q1"): Told(2.8, _WAITS),
    ("cloud", "Q2"): Told(2.7, _WAITS),
    ("cloud", "Q3"): Told(2.3, _WAITS),
    ("cloud", "Q4"): Told(2.8, _WAITS),
    **{("android", f"Q{n}"): Told(1.9, _WAITS, "at least") for n in (1, 2, 3, 4)},
}
"""Throughput of the advanced framework over that of the basic one."""
STATE_UNDER_BASIC = {
    ("cloud", "Q1"): Told(29.8, _WAITS),
    ("cloud", "Q2"): Told(29.2, _WAITS),
    ("cloud", "Q3"): Told(29.2, _WAITS),
    ("cloud", "Q4"): Told(31.5, _WAITS),
    **{("android", f"Q{n}"): Told(1.9, _WAITS) for n in (1, 2, 3, 4)},
}
OVER_SORTED = {"cloud": Told(0.78, _WAITS, "at least"), "android": Told(0.93, _WAITS, "at least")}
"""Throughput over that of one query with the longest wait: 4 to 22 % and 1 to 7 % less."""

RECALL_WITHOUT_WAIT = {
    "match": Told(0.5, "Section VI-A, of Fig. 6", "about"),
    "D×4": Told(0.8, "Section VI-A, of Fig. 6", "about"),
}
"""For D×3 the text only says that it is below the value for D×4."""
LONGEST_WAIT = {"match": Told(19.96, _II), "D×3": Told(19.72, _II), "D×4": Told(13.88, _II)}
LONGEST_RECALL = {"match": Told(1.0, _II), "D×3": Told(0.999, _II), "D×4": Told(0.999, _II)}
NEARLY = Told(97.0, "Section VI-B, of Fig. 7", "at least")
"""Percent of measurements with 99 % of the required recall: every recall, with NonEqSel."""
BELOW_LONGEST = {
    ("match", 0.99): Told(95.0, "Section VI-B", "more than"),
    ("match", 0.999): Told(35.0, "Section VI-B"),
    ("D×3", 0.999): Told(0.0, "Section VI-B"),
    ("D×4", 0.999): Told(0.0, "Section VI-B"),
}
"""Percent by which the wait is shorter than that of Max-K-slack."""
NEARLY_BY_PERIOD = Told(90.0, "Section VI-B, of Fig. 8", "more than")
STEP_MS = {
    0.9: Told(1.0, "Section VI-E, of Fig. 11", "below"),
    0.99: Told(1.0, "Section VI-E, of Fig. 11", "below"),
    0.999: Told(5.0, "Section VI-E, of Fig. 11", "below"),
}
"""Time to choose a wait, in steps of 10 ms or more."""

OPTIMISTIC_RATIO = Told(1.1, "Section VI-B, of Fig. 9", "below")
"""Items that reach the barrier over valid items, under a load that is not extreme."""

TRILLION = Told(1e12 / 86_400, "Section 1", "about")
"""Events per second, for a trillion events a day."""
