"""Small records in a directory, each written once and never changed.

The records of a checkpoint hold its query and its owners; those of an output list its complete
micro-batches. A record is one line of JSON. It appears as a whole or not at all:

    on a local file system    written to a file beside it, synced to disk, renamed
    everywhere else           written by Spark, whose files appear when its job commits

Records of both kinds can be read by both, so a query may move from one kind of session to another.
Each record carries a digest of itself. A file that is not a valid record, for example because a
broken disk has truncated it or a bit has flipped, is an error.
"""

import hashlib
import json
import os
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from weakref import WeakKeyDictionary

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.utils import is_remote

from latecomer.errors import StateFormatError

Record = Mapping[str, Any]
Places = dict[str, Path | None]
"""The `local_path` of each directory; None if this process cannot use it."""

_DIGEST = "digest"


_roots: WeakKeyDictionary[SparkSession, str] = WeakKeyDictionary()
"""What each session puts before an absolute path, such as "file:"."""


def qualified(spark: SparkSession, path: str) -> str:
    """Return a path with the scheme that Spark gives it: Spark's default is not always local.

    All absolute paths without a scheme are on one file system, so a session is asked for it once.
    """
    if not path.startswith("/"):
        return _asked(spark, path)
    if spark not in _roots:
        found = _asked(spark, path)
        root = found.removesuffix(path)
        if root in ("", found):
            # Spark has not told, or has changed more than the beginning.
            return found
        _roots[spark] = root
    return f"{_roots[spark]}{path}"


def _asked(spark: SparkSession, path: str) -> str:
    """Ask Spark for a full path.

    Spark names it in the error for a missing file; no other public call returns it.
    """
    nowhere = f"latecomer-{uuid.uuid4().hex}"
    try:
        _ = spark.read.text(f"{path}/{nowhere}").schema
    except AnalysisException as error:
        found = (error.getMessageParameters() or {}).get("path", "")
        if found.endswith(f"/{nowhere}"):
            return found.removesuffix(f"/{nowhere}")
    return path


def local_path(spark: SparkSession, path: str) -> Path | None:
    """Return the path if this process can use it itself; None if only Spark can."""
    if is_remote():
        return None
    scheme, colon, rest = qualified(spark, path).partition(":")
    if colon and scheme != "file":
        return None
    return Path("/" + unquote(rest).lstrip("/")) if colon else None


def is_missing(spark: SparkSession, path: str) -> bool:
    """Return True if this process can see that a path does not exist.

    Spark would have to plan a query to find out, and in some cases run a job.
    """
    place = local_path(spark, path)
    return place is not None and not place.exists()


class Ledger:
    """The records of one directory."""

    def __init__(
        self, spark: SparkSession | None, directory: str, places: Places | None = None
    ) -> None:
        """Find the directory, a local one without a session; the first record creates it.

        `places` are directories that were found before. Each micro-batch opens the same ones, and
        finding one is a request to Spark.
        """
        places = {} if places is None else places
        if directory not in places:
            places[directory] = Path(directory) if spark is None else local_path(spark, directory)
        self._spark = spark
        self._directory = directory
        self.local = places[directory]
        """The directory, if records are local files; None if Spark jobs write them."""

    def add(self, name: str, record: Record, *, is_synced: bool = True) -> None:
        """Write a record, and replace one of the same name.

        Without `is_synced`, a power cut may lose the record, but never a part of it.
        """
        line = json.dumps({**record, _DIGEST: _digest(record)}, sort_keys=True)
        if self.local is None and self._spark is not None:
            lines = self._spark.range(0, 1, 1, 1).select(F.lit(line).alias("value"))
            lines.write.mode("overwrite").text(f"{self._directory}/{name}")
        elif self.local is not None:
            write_whole(self.local / name, line.encode() + b"\n", is_synced=is_synced)

    def read(self, name: str = "", *, is_strict: bool = True) -> list[dict[str, Any]]:
        """Read all records, in no order.

        Args:
            name: Read only the record of this name.
            is_strict: Refuse lines that are not valid records; otherwise they are left out.

        Raises:
            StateFormatError: A line is not a valid record.
        """
        if self.local is not None:
            lines = self._lines(self.local / name)
        else:
            lines = [] if self._spark is None else self._lines_by_spark(self._spark, name)
        found = []
        for line in lines:
            try:
                found.append(self._record(line))
            except StateFormatError:
                if is_strict:
                    raise
        return found

    def _lines(self, place: Path) -> list[str]:
        # A record is a file, or a directory that Spark has written. As Spark does, ignore
        # incomplete files and Spark's own marks.
        paths = [place] if place.is_file() else place.rglob("*")
        files = [path for path in paths if path.is_file() and path.name[0] not in "._"]
        return [line for file in files for line in file.read_text("utf-8", "replace").splitlines()]

    def _lines_by_spark(self, spark: SparkSession, name: str) -> list[str]:
        reader = spark.read.option("recursiveFileLookup", value=True)
        place = f"{self._directory}/{name}" if name else self._directory
        try:
            return [row.value for row in reader.text(place).collect()]
        except AnalysisException as error:
            if error.getCondition() != "PATH_NOT_FOUND":
                raise
            return []

    def _record(self, line: str) -> dict[str, Any]:
        try:
            found = json.loads(line)
        except ValueError as error:
            raise self._damaged(line) from error
        if not isinstance(found, dict) or found.pop(_DIGEST, None) != _digest(found):
            raise self._damaged(line)
        return found

    def _damaged(self, line: str) -> StateFormatError:
        return StateFormatError(
            f'"{self._directory}" has a record that cannot be read: {line[:80]!r}.\n'
            "Hint: restore the directory from a backup, or start with a new one."
        )


def _digest(record: Record) -> str:
    line = json.dumps(record, sort_keys=True)
    return hashlib.blake2b(line.encode(), digest_size=8).hexdigest()


def write_whole(path: Path, content: bytes, *, is_synced: bool = True) -> None:
    """Write a local file that appears as a whole or not at all; synced, it survives a power cut."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    with part.open("wb") as file:
        file.write(content)
        file.flush()
        if is_synced:
            os.fsync(file.fileno())
    part.replace(path)
    if is_synced:
        sync_names(path.parent)


def sync_names(directory: Path) -> None:
    """Make sure that the names in a local directory survive a power cut."""
    opened = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
