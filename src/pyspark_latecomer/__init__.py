"""Where PySpark finds the data source `latecomer.replay`.

PySpark looks for modules named pyspark_* and registers their `DefaultSource`, in any session and on
Spark Connect servers too. Nobody imports this module by hand.
"""

from latecomer.generate.replay.source import ReplaySource as DefaultSource

__all__ = ["DefaultSource"]
