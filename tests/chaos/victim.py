"""A driver that kills itself, its JVM and its workers at an effect; run by `faults`.

Usage: python -m tests.chaos.victim SEED DIRECTORY EFFECT
"""

import os
import signal
import sys

import latecomer as lc
from tests.chaos.failpoints import FailPoint
from tests.chaos.faults import Trial
from tests.support.short_lived import CONFIG


def die(_name: str) -> None:
    """Kill the whole process group, as if the machine had stopped."""
    os.killpg(os.getpgrp(), signal.SIGKILL)


def main(seed: int, directory: str, at: int) -> None:
    spark = lc.session(master="local[2]", config={**CONFIG, "spark.sql.shuffle.partitions": "2"})
    trial = Trial(seed, directory)
    with FailPoint(at, die).installed():
        trial.start(spark, "flush").awaitTermination()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
