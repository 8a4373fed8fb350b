"""The state of a stage on the driver, in files beside the checkpoint of its query.

    CHECKPOINT/latecomer/states/batch-7-r1-5f0c     the stage after batch 7, and its chunks
    CHECKPOINT/latecomer/states/batch-8-r2-9ab3
    CHECKPOINT/latecomer/states/chunk-41-r1-5f0c    a chunk; it is written once and never changed

After a crash, Spark may run the last micro-batch again, but none before it. So the last two states
are kept: the one after the last micro-batch, and the one before it. **A file that one of them
refers to is never written to**: a chunk that changes gets a new number, and the files of each run
of the query carry its name. If a batch has two states, that of the later run counts.

A driver deletes only files of its own or of an earlier run, so a driver that was replaced can do no
harm. And it deletes nothing in its first micro-batch: until it has committed one, the run before it
may still be alive and commit instead, and then the checkpoint needs the files of that run.

Each file begins with a checksum of the rest, because Arrow would read some damaged files as other
values, and crash the process on others.
"""

import hashlib
import json
import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import fs

from latecomer.batch import Batch, decode, encode
from latecomer.errors import OptionError, StateFormatError
from latecomer.hosts.spark.durable.ledger import write_whole
from latecomer.hosts.spark.durable.owner import rank


@dataclass(slots=True)
class FileChunks:
    """The chunks of one operator, in memory; new ones are written to files with the next state."""

    batches: dict[int, Batch] = field(default_factory=dict)
    unwritten: set[int] = field(default_factory=set)
    names: dict[str, str] = field(default_factory=dict)
    """File name of each chunk that has been written, by its number."""

    def get(self, number: int) -> Batch:
        return self.batches[number]

    def put(self, number: int, rows: Batch) -> None:
        """Set a chunk, which must be new."""
        if number in self.batches:
            raise AssertionError(f"chunk {number} is written twice")
        self.batches[number] = rows
        self.unwritten.add(number)

    def drop(self, number: int) -> None:
        del self.batches[number]
        self.unwritten.discard(number)


@dataclass(frozen=True, slots=True)
class Kept:
    """The state of a stage after a micro-batch."""

    newest: int
    """Largest time seen."""
    saved: bytes
    """Saved state, from `RunningStage.save`."""
    held: int = 0
    """Number of states that are held."""


def file_uri(checkpoint: str) -> str:
    """Return a path of Spark as a URI for Arrow."""
    scheme, colon, path = checkpoint.partition(":/")
    if not colon or "/" in scheme:
        return Path(checkpoint).absolute().as_uri()
    if scheme == "file":
        # In a path of Spark `#`, `?` and `%` stand for themselves.
        return Path("/" + path.lstrip("/")).as_uri()
    # Hadoop has several schemes for one store, and leaves out an empty host.
    scheme = {"s3a": "s3", "s3n": "s3"}.get(scheme, scheme)
    return f"{scheme}:/{path}" if path.startswith("/") else f"{scheme}:///{path}"


class _File(NamedTuple):
    """A file of states; of two for the same batch, that of the later run is the larger."""

    rank: tuple[int, str]
    name: str
    kind: str
    number: int


_NAME = re.compile(r"(batch|chunk)-(\d+)-(r\d+-\w+)")


class StateFiles:
    """The files of one query, for one of its runs."""

    def __init__(self, checkpoint: str, attempt: str = "r1-0") -> None:
        """Find the directory; it is created with the first state.

        Args:
            checkpoint: The checkpoint, with its scheme.
            attempt: The name of the run; see `owner.Owner`.
        """
        try:
            self._files, path = fs.FileSystem.from_uri(file_uri(checkpoint))
        except (pa.ArrowInvalid, OSError, ImportError) as error:
            raise OptionError(
                f'states cannot be kept beside the checkpoint "{checkpoint}": {error}.\n'
                'Hint: name a directory that Arrow can write to, or use states="buckets".'
            ) from error
        self._checkpoint = path
        self._directory = posixpath.join(path, "latecomer", "states")
        self._attempt = attempt

    def read(self, batch: int) -> tuple[Kept, FileChunks]:
        """Return the state of the stage after a micro-batch.

        Raises:
            StateFormatError: There is no such state, or it cannot be read.
        """
        found = [file for file in self._present() if (file.kind, file.number) == ("batch", batch)]
        if not found:
            raise StateFormatError(
                f"the checkpoint has no states of micro-batch {batch}, which the next one needs.\n"
                'Hint: it was created without states="driver", or it is damaged; use a new one.'
            )
        header, saved = self._state(max(found).name)
        try:
            chunks = {int(n): decode(self._read(name)) for n, name in header["chunks"].items()}
            return Kept(header["newest"], saved), FileChunks(chunks, set(), dict(header["chunks"]))
        except (KeyError, ValueError, AttributeError, pa.ArrowException) as error:
            raise _damaged(max(found).name) from error

    def offsets(self, batch: int) -> list[str]:
        """Return the lines that Spark wrote down of a micro-batch before it began to run it."""
        path = posixpath.join(self._checkpoint, "offsets", str(batch))
        with self._files.open_input_file(path) as file:
            return file.read().decode().splitlines()

    def last(self) -> int:
        """Return the number of the last micro-batch with a state here; -1 if there is none."""
        return max((file.number for file in self._present() if file.kind == "batch"), default=-1)

    def held(self) -> tuple[int, int, int, int]:
        """Return rows, states of windows, bytes, and the most in one bucket, of the last state."""
        states = [file for file in self._present() if file.kind == "batch"]
        if not states:
            return (0, 0, 0, 0)
        name = max(states, key=lambda file: (file.number, file)).name
        header, _ = self._state(name)
        paths = [
            posixpath.join(self._directory, each) for each in (name, *header["chunks"].values())
        ]
        size = sum(info.size or 0 for info in self._files.get_file_info(paths))
        return (0, header["held"], size, header["held"])

    def write(self, batch: int, kept: Kept, chunks: FileChunks) -> None:
        """Write the state after a micro-batch, and delete files that are no longer needed."""
        self._files.create_dir(self._directory)
        for number in sorted(chunks.unwritten):
            chunks.names[str(number)] = name = f"chunk-{number}-{self._attempt}"
            self._write(name, encode(chunks.get(number), "lz4"))
        chunks.unwritten.clear()
        names = {n: name for n, name in chunks.names.items() if int(n) in chunks.batches}
        header = {"newest": kept.newest, "held": kept.held, "chunks": names}
        name = f"batch-{batch}-{self._attempt}"
        self._write(name, json.dumps(header).encode() + b"\n" + kept.saved)
        self._clean(batch, {name, *names.values()})

    def _clean(self, batch: int, used: set[str]) -> None:
        """Delete files that neither this state nor the one before refers to, except of later runs.

        A run that has not written the state before has not committed it, and deletes nothing.
        """
        present = list(self._present())
        if f"batch-{batch - 1}-{self._attempt}" not in {file.name for file in present}:
            return
        before = [each for each in present if (each.kind, each.number) == ("batch", batch - 1)]
        if before:
            name = max(before).name
            used |= {name, *self._state(name)[0]["chunks"].values()}
        for file in present:
            if file.name not in used and file.rank <= rank(self._attempt):
                self._files.delete_file(posixpath.join(self._directory, file.name))

    def _state(self, name: str) -> tuple[dict[str, Any], bytes]:
        first, _, saved = self._read(name).partition(b"\n")
        return json.loads(first), saved

    def _present(self) -> Iterator[_File]:
        """Yield the files, except those that a crash left incomplete."""
        where = fs.FileSelector(self._directory, allow_not_found=True)
        for info in self._files.get_file_info(where):
            if found := _NAME.fullmatch(info.base_name):
                kind, number, attempt = found.groups()
                yield _File(rank(attempt), info.base_name, kind, int(number))

    def _read(self, name: str) -> bytes:
        try:
            with self._files.open_input_file(posixpath.join(self._directory, name)) as file:
                digest, _, content = file.read().partition(b"\n")
        except OSError as error:
            raise _damaged(name) from error
        if digest != _digest(content):
            raise _damaged(name)
        return content

    def _write(self, name: str, content: bytes) -> None:
        """Write a file that appears whole or not at all."""
        path = posixpath.join(self._directory, name)
        whole = _digest(content) + b"\n" + content
        if isinstance(self._files, fs.LocalFileSystem):
            write_whole(Path(path), whole)
            return
        with self._files.open_output_stream(f"{path}.part") as file:
            file.write(whole)
        self._files.move(f"{path}.part", path)


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=16).hexdigest().encode()


def _damaged(name: str) -> StateFormatError:
    return StateFormatError(
        f'the file "{name}" of the checkpoint\'s states is missing or damaged.\n'
        "Hint: restore the checkpoint from a backup, or start with a new one."
    )
