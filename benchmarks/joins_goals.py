"""What we want to reach, and whether what was run does.

nearly             Φ(.99Γ) is at least 97 % for every recall, with NonEqSel and by default
below_max          at a recall of 99 %: how much shorter the wait is than that of Max-K-slack
step_ms            a wait is chosen within a millisecond, by default
shorter_than_paper the wait by default is below that of the paper's feedback, for every recall
steadier_than_paper     and moves less from one interval to the next
better_than_none   against no feedback: more measurements are what was asked for, or the wait is
                   shorter while Φ(.99Γ) is still reached
fuller_than_none   at a recall of 99 %: Φ(Γ) is above that of no feedback
wait_99            at a recall of 99 %: the wait in seconds; it must not grow
fixed_fuller       not a goal, but what is possible: the shortest fixed wait that was tried, in
                   seconds, whose Φ(Γ) is above that of no feedback; null if there is none
"""

from collections.abc import Callable, Iterator
from typing import Any

Line = dict[str, Any]

BELOW_MAX = {"D×3": 0.75, "D×4": 0.9, "match": 0.9}
NEARLY, STEP_MS = 0.97, 1.0
WAIT_99 = {"D×3": 4.527, "D×4": 0.701, "match": 0.915}


def goals(lines: list[Line]) -> Iterator[Line]:
    """Hold lines against what we want to reach, a line for each goal and data set."""
    asked = [line for line in lines if line.get("selectivity") == "NonEqSel"]
    asked = [line for line in asked if line["figure"] in ("7", "seeds")]
    default = [line for line in asked if line["feedback"] == "calibrated"]
    for name in dict.fromkeys(line["data"] for line in default):
        own = [line for line in default if line["data"] == name]
        worst = min(line["nearly"] for line in own)
        yield _goal("nearly", own, worst, f"at least {NEARLY}", is_reached=worst >= NEARLY)
        if strict := [line for line in own if line["recall_asked"] == 0.99]:
            worst, least = min(line["below_max"] for line in strict), BELOW_MAX[name]
            yield _goal("below_max", strict, worst, f"at least {least}", is_reached=worst >= least)
        worst = max(line["step_ms"] for line in own)
        yield _goal("step_ms", own, worst, f"below {STEP_MS}", is_reached=worst < STEP_MS)
        others = [line for line in asked if line["data"] == name]
        yield from _beats("shorter_than_paper", own, others, "paper", _is_shorter)
        yield from _beats("steadier_than_paper", own, others, "paper", _is_steadier)
        yield from _beats("better_than_none", own, others, "none", _is_better)
        strict = [line for line in own if line["recall_asked"] == 0.99 and line["figure"] == "7"]
        if strict:
            yield from _beats("fuller_than_none", strict, others, "none", _is_fuller)
            wait, most = strict[0]["average_wait"], WAIT_99[name]
            yield _goal("wait_99", strict, wait, f"at most {most}", is_reached=wait <= most)
            yield from _shortest(name, lines, others)


def _shortest(name: str, lines: list[Line], others: list[Line]) -> Iterator[Line]:
    """Yield the shortest fixed wait that beats no feedback at a recall of 99 %."""
    fixed = [each for each in lines if each.get("figure") == "fixed" and each["data"] == name]
    none = [each for each in others if each["feedback"] == "none" and each["recall_asked"] == 0.99]
    if fixed and none:
        waits = [each["wait"] for each in fixed if _is_fuller(each, none[0])]
        found = {"benchmark": "joins", "goal": "fixed_fuller", "data": name, "runs": len(fixed)}
        yield found | {"worst": min(waits, default=None), "wanted": "the shortest tried"}


def _goal(goal: str, lines: list[Line], worst: float, wanted: str, *, is_reached: bool) -> Line:
    found = {"benchmark": "joins", "goal": goal, "data": lines[0]["data"], "runs": len(lines)}
    return found | {"worst": worst, "wanted": wanted, "reached": is_reached}


def _beats(
    goal: str, own: list[Line], others: list[Line], feedback: str, beats: Callable[..., bool]
) -> Iterator[Line]:
    against = {line["recall_asked"]: line for line in others if line["feedback"] == feedback}
    pairs = [
        (line, against[line["recall_asked"]])
        for line in own
        if line["figure"] == "7" and line["recall_asked"] in against
    ]
    if pairs:
        lost = [ours["recall_asked"] for ours, theirs in pairs if not beats(ours, theirs)]
        found = {"benchmark": "joins", "goal": goal, "data": own[0]["data"], "runs": len(pairs)}
        yield found | {"not_at": lost, "reached": not lost}


def _is_shorter(ours: Line, theirs: Line) -> bool:
    return ours["average_wait"] < theirs["average_wait"]


def _is_steadier(ours: Line, theirs: Line) -> bool:
    return ours["wait_moves"] < theirs["wait_moves"]


def _is_fuller(ours: Line, theirs: Line) -> bool:
    return ours["fulfilled"] > theirs["fulfilled"]


def _is_better(ours: Line, theirs: Line) -> bool:
    is_shorter = _is_shorter(ours, theirs) and ours["nearly"] >= NEARLY
    return is_shorter or _is_fuller(ours, theirs)
