"""The process that Spark forks its Python workers from, with their modules imported.

PySpark's own forks workers that have imported nothing but PySpark. Each of them then imports NumPy,
PyArrow, pandas and Latecomer before it sees a row, and a query needs several workers at once. This
one imports them before it forks, so they are imported once.

PySpark imports nothing before the fork because a library might start threads, whose locks a fork
does not carry over. Of the libraries here only PyArrow starts one: the background thread of its
memory allocator, which prepares itself for forks. NumPy starts none, because Spark limits it to one
thread in its workers.

Spark starts such a process for each kind of worker, and other kinds need less.
"""

import gc
import importlib
import os
import sys

from pyspark.daemon import manager

_NEEDED = {"pyspark.worker": ("pyspark.worker", "pandas", "latecomer.hosts.spark.bucket")}
"""The modules to import before the fork, by the module of the workers."""


def main() -> None:
    """Import what workers need, and fork one whenever Spark asks for it."""
    for name in _NEEDED.get(sys.argv[1], ()):
        importlib.import_module(name)
    if "numpy" in sys.modules:
        # A fork copies NumPy's random numbers, and all workers would draw the same ones.
        os.register_at_fork(after_in_child=sys.modules["numpy"].random.seed)
    # Collections in the workers need not look at these objects, which would also copy their memory.
    gc.freeze()
    manager()


if __name__ == "__main__":
    main()
