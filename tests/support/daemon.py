"""Spark's daemon of Python workers, with libraries imported before it forks.

Each of the many small queries of the tests gets new workers, and imports take a worker most of a
second. Workers forked here already have pandas, PyArrow and Numba, and import only Latecomer.
"""

import gc
import importlib

from pyspark.daemon import manager

if __name__ == "__main__":
    for name in ("pyspark.worker", "pandas", "pyarrow.dataset", "numba.np.linalg"):
        importlib.import_module(name)
    gc.freeze()
    manager()
