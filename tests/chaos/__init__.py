"""Faults on purpose: no fault may lose, repeat or change rows.

    make chaos                            10,000 schedules of the simulator, 200 real faults
    python -m tests.chaos --seed 8812     one schedule again
    make soak                             an hour at full rate, with restarts
    python -m tests.chaos.large           more than 2 GiB from one bucket, at once

**The simulator** (`simulator`) runs Latecomer's own code from `start()` down, on a small substitute
for Spark: DataFrames (`frames`, `columns`, `files`), micro-batches and their state (`streams`,
`states`), and a disk (`disk`). An *effect* is a change outside the process. At each effect the
driver may crash, the disk may be full, or another driver may continue. The seed determines the run.

**Real faults** (`faults`) end real queries on real Spark after their k-th effect, and kill workers
and executors while they run.

**Fuzz** (`test_fuzz`) passes damaged bytes to the code that reads state, parcels and offsets.

Each fault that was found has a regression test, next to the code that was fixed or in
`test_simulator.py`.
"""
