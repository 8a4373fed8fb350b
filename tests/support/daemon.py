"""Spark's parent of Python workers, with the libraries imported that they need.

Each of the many small queries of the tests gets new workers, and a worker imports for most of a
second before it sees a row. Those that this process forks have pandas, PyArrow and Numba already;
Latecomer they import themselves.
"""

import gc
import importlib

from pyspark.daemon import manager

if __name__ == "__main__":
    for name in ("pyspark.worker", "pandas", "pyarrow.dataset", "numba.np.linalg"):
        importlib.import_module(name)
    gc.freeze()
    manager()
