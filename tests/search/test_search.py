import random

import pytest

from tests.search.cases import Case, failure, smallest
from tests.search.kinds import KINDS

CASES = 120
"""Of each kind. `make search` goes on from here."""


@pytest.mark.parametrize("name", KINDS)
def test_random_queries_give_what_brute_force_gives(name: str) -> None:
    kind = KINDS[name]
    for seed in range(CASES):
        case = kind.draw(random.Random(seed))
        if failure(kind, case) is not None:
            case = smallest(case, lambda each: failure(kind, each) is not None)
            pytest.fail(f"{name}, seed {seed}:\n{case}\n{failure(kind, case)}")


def test_a_failing_case_is_made_smaller_until_nothing_can_be_left_out() -> None:
    case = Case({}, (((1,), (2,)), (), ((3,), (1,))))

    def fails(each: Case) -> bool:
        return ((3,) in [row for rows in each.batches for row in rows]) and len(each.batches) > 0

    assert smallest(case, fails) == Case({}, (((3,),),))


def test_what_a_query_raises_is_a_finding() -> None:
    class Raising:
        def draw(self, rng: random.Random) -> Case:
            return Case({}, ())

        def found(self, case: Case) -> None:
            raise ValueError("no")

        def expected(self, case: Case) -> None:
            return None

    kind = Raising()
    assert failure(kind, kind.draw(random.Random(0))) == "raises ValueError: no"
