"""Faults on purpose: nothing may be lost, whatever breaks.

    make chaos                            10,000 schedules of the simulator, 200 real faults
    python -m tests.chaos --seed 8812     one schedule again
    make soak                             an hour at full rate, with restarts
    python -m tests.chaos.large           more than 2 GiB from one bucket, at once

**The simulator** (`simulator`) runs Latecomer's own code from `start()` down, on a Spark that is
made of a few hundred lines: DataFrames (`frames`, `columns`, `files`), micro-batches and their
state (`streams`, `states`), a disk (`disk`). Each effect on the world is a point at which the
driver may die, the disk may be full, or another driver may go on. A run follows from its seed.

**Real faults** (`faults`) end real queries on real Spark after their k-th effect, and kill workers
and executors while they run.

**Fuzz** (`test_fuzz`) hands damaged bytes to all that reads state, parcels and offsets.

What was found stays as a regression test, next to what was mended or in `test_simulator.py`.
"""
