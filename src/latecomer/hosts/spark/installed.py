"""Checks that PySpark, and the packages that it needs, are installed.

PySpark is not among the requirements of Latecomer. Platforms bring a build of their own, and a
requirement would install another one over it. Elsewhere, `pip install "latecomer[spark]"` installs
PySpark and all that it needs.
"""

import re
from importlib.util import find_spec

from latecomer.errors import MissingPackageError

OLDEST = (4, 1)
"""The oldest release of PySpark that is supported."""


def check_pyspark() -> None:
    """Refuse to go on without PySpark, or with one that is too old.

    Raises:
        MissingPackageError: There is no PySpark, or it is too old.
    """
    try:
        import pyspark
    except ModuleNotFoundError as error:
        if error.name != "pyspark":
            raise
        raise MissingPackageError(
            "streams need PySpark, which is not installed here.\n"
            'Hint: pip install "latecomer[spark]"; or use a Python in which your platform has put '
            "its own PySpark."
        ) from None
    check_release(pyspark.__version__)


def check_release(version: str) -> None:
    """Refuse a PySpark that is too old.

    Releases newer than those that were tested are accepted, and so are version numbers of vendors.
    """
    numbers = re.match(r"(\d+)\.(\d+)", version)
    if numbers and (int(numbers[1]), int(numbers[2])) < OLDEST:
        raise MissingPackageError(
            f"Latecomer needs PySpark {'.'.join(map(str, OLDEST))} or later; {version} is "
            'installed.\nHint: pip install "latecomer[spark]", or use a newer runtime of your '
            "platform."
        )


def check_packages() -> None:
    """Refuse a streaming query if a package that PySpark needs for it is missing.

    Raises:
        MissingPackageError: pandas or protobuf is not installed here.
    """
    for module, package in (("pandas", "pandas"), ("google.protobuf", "protobuf")):
        if not _is_installed(module):
            raise MissingPackageError(
                f"PySpark needs {package} for queries with state, and it is not installed here.\n"
                'Hint: pip install "latecomer[spark]", on the executors too.'
            )


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ModuleNotFoundError, ValueError):
        # Its parent package is missing, or it was removed from the loaded modules.
        return False
