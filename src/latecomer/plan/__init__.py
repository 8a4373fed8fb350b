"""Plans: the specification of a stream as data, and the stage that each operator goes to."""

from latecomer.plan.plan import Plan
from latecomer.plan.source import LATE_POLICIES, LatePolicy, Source
from latecomer.plan.stage import Gathering, Meeting, Stage

__all__ = ["LATE_POLICIES", "Gathering", "LatePolicy", "Meeting", "Plan", "Source", "Stage"]
