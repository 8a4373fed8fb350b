import random

import pytest

from tests.search.cases import Case, failure, smallest
from tests.search.kinds import KINDS
from tests.search.streams import SECOND, Columns

CASES = 120
"""Number of seeds for each kind, from 0; `make search` tries more."""


@pytest.mark.parametrize("name", KINDS)
def test_random_queries_give_what_brute_force_gives(name: str) -> None:
    kind = KINDS[name]
    for seed in range(CASES):
        case = kind.draw(random.Random(seed))
        if failure(kind, case) is not None:
            case = smallest(case, lambda each: failure(kind, each) is not None)
            pytest.fail(f"{name}, seed {seed}:\n{case}\n{failure(kind, case)}")


FOUND = [
    # The join found a result before hindsight did, and hindsight then counted it as missed.
    (
        "window_joins",
        Case(
            {"windows": (5, 2), "on": "key", "wait": 3},
            (
                ((0, 0, "a"), (0, -7, "b")),
                ((0, -8, "a"), (1, -10, "a"), (0, -9, None)),
                ((1, -4, "a"),),
                ((1, 5, "b"), (1, 10, "a")),
            ),
        ),
    ),
    (
        "window_joins",
        Case(
            {"windows": (2, 5, 2), "on": "key", "wait": 3},
            (
                ((0, -2, None), (1, -2, "a"), (2, -1, "a"), (1, 1, "b")),
                ((0, -5, "b"),),
                ((2, -9, "b"), (1, -3, "b")),
                ((2, -5, "b"),),
                ((2, 13, "b"), (0, 13, None)),
                ((1, 17, "a"),),
            ),
        ),
    ),
    # The longest delay had grown, so a row waited longer than later rows before it. It was then
    # behind the clock of hindsight, and its results were counted neither as produced nor as missed.
    (
        "window_joins",
        Case(
            {"windows": (2, 2), "on": "nothing", "wait": "recall"},
            (
                ((0, 3, None), (1, 0, "b")),
                ((0, -1, "a"),),
                ((1, 4, "b"), (0, 0, "b")),
                ((1, 13, "a"),),
            ),
        ),
    ),
    # A late row was moved to a time that its column cannot hold.
    (
        "sorts",
        Case(
            {
                "columns": Columns(
                    "a b", "is_final", "wait", "tick`ed", "seconds in 8 bits", "boolean", "struct"
                ),
                "waits": (3 * SECOND,),
                "late": "adjust",
                "clock": "one",
                "idle": 4 * SECOND,
                "pace": 2 * SECOND,
            },
            (*[((127 * SECOND, False, 2),)] * 7, *[()] * 6, ((127 * SECOND, None, 5),)),
        ),
    ),
    # Here brute force was wrong: a row that comes out after a silence is remembered, so the clock
    # of its key advances further in the same micro-batch.
    (
        "distinct",
        Case(
            {
                "columns": Columns("t", "k", "v", "n", "timestamp", "text", "list"),
                "compared": "key and value",
                "within": 10 * SECOND,
                "waits": (0,),
                "late": "drop",
                "clock": "key",
                "idle": 4 * SECOND,
                "pace": 2 * SECOND,
            },
            (((105_077, "a", -3),), (), (), (), (), ((3_925_996, "a", None),)),
        ),
    ),
]
"""Failures that the search has found, as minimal cases."""


@pytest.mark.parametrize(("name", "case"), FOUND)
def test_a_failure_that_was_found_does_not_return(name: str, case: Case) -> None:
    assert failure(KINDS[name], case) is None


def test_a_failing_case_is_made_smaller_until_nothing_can_be_left_out() -> None:
    case = Case({}, (((1,), (2,)), (), ((3,), (1,))))

    def fails(each: Case) -> bool:
        return ((3,) in [row for rows in each.batches for row in rows]) and len(each.batches) > 0

    assert smallest(case, fails) == Case({}, (((3,),),))


def test_a_query_that_raises_is_a_failure() -> None:
    class Raising:
        def draw(self, rng: random.Random) -> Case:
            return Case({}, ())

        def found(self, case: Case) -> None:
            raise ValueError("no")

        def expected(self, case: Case) -> None:
            return None

    kind = Raising()
    assert failure(kind, kind.draw(random.Random(0))) == "raises ValueError: no"
