"""What a stage on the driver holds, in files beside the checkpoint of its query.

    CHECKPOINT/latecomer/batch-7        how batch 7 left the stage, and which chunks it then had
    CHECKPOINT/latecomer/batch-8
    CHECKPOINT/latecomer/chunk-41       a chunk; it is written once and never changed

Spark may run the last micro-batch again after a crash, and that one only. So the state before it is
kept until the one after it is written: there are two. **A file that one of them refers to is never
written to**: a chunk that changes gets a new number. What a crash leaves behind is overwritten when
the batch is run again, because its chunks get the same numbers again.
"""

import json
import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
from pyarrow import fs

from latecomer.batch import Batch, decode, encode
from latecomer.errors import OptionError, StateFormatError


@dataclass(slots=True)
class FileChunks:
    """The chunks of one operator: in memory, and what is new in files with the next state."""

    batches: dict[int, Batch] = field(default_factory=dict)
    unwritten: set[int] = field(default_factory=set)

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
    """How a micro-batch left a stage."""

    newest: int
    """The largest time seen."""
    saved: bytes
    """What `RunningStage.save` returned."""


def _uri(checkpoint: str) -> str:
    """Write a path as Arrow does, given one as Spark does."""
    scheme, colon, path = checkpoint.partition(":/")
    if not colon or "/" in scheme:
        return Path(checkpoint).absolute().as_uri()
    # Hadoop has several names for one store, and needs no empty host.
    scheme = {"s3a": "s3", "s3n": "s3"}.get(scheme, scheme)
    return f"{scheme}:/{path}" if path.startswith("/") else f"{scheme}:///{path}"


class StateFiles:
    """The files of one query."""

    def __init__(self, checkpoint: str) -> None:
        """Find the directory; it is made with the first state."""
        try:
            self._files, path = fs.FileSystem.from_uri(_uri(checkpoint))
        except (pa.ArrowInvalid, OSError, ImportError) as error:
            raise OptionError(
                f'states cannot be kept beside the checkpoint "{checkpoint}": {error}.\n'
                'Hint: name a directory that Arrow can write to, or use states="buckets".'
            ) from error
        self._directory = posixpath.join(path, "latecomer")

    def read(self, batch: int) -> tuple[Kept, FileChunks]:
        """Read how a micro-batch left the stage; raise if it left nothing here."""
        try:
            content = self._read(f"batch-{batch}")
        except FileNotFoundError as error:
            raise StateFormatError(
                f"the checkpoint has no states of micro-batch {batch}, on which the next one "
                "builds.\n"
                'Hint: it was begun without states="driver", or is damaged; use a new one.'
            ) from error
        first, _, saved = content.partition(b"\n")
        header = json.loads(first)
        batches = {n: decode(self._read(f"chunk-{n}")) for n in header["chunks"]}
        return Kept(header["newest"], saved), FileChunks(batches)

    def last(self) -> int:
        """Number the last micro-batch that left something here; -1 if none did."""
        return max((n for kind, n, _ in self._present() if kind == "batch"), default=-1)

    def write(self, batch: int, kept: Kept, chunks: FileChunks) -> None:
        """Write how a micro-batch left the stage, and forget the state before the last."""
        self._files.create_dir(self._directory)
        for number in sorted(chunks.unwritten):
            self._write(f"chunk-{number}", encode(chunks.get(number), "lz4"))
        chunks.unwritten.clear()
        header = {"newest": kept.newest, "chunks": sorted(chunks.batches)}
        self._write(f"batch-{batch}", json.dumps(header).encode() + b"\n" + kept.saved)
        self._clean(batch, set(chunks.batches))

    def _clean(self, batch: int, used: set[int]) -> None:
        """Delete what neither this state nor the one before it refers to."""
        if batch:
            used |= set(json.loads(self._read(f"batch-{batch - 1}").partition(b"\n")[0])["chunks"])
        for kind, number, path in self._present():
            if number not in ((batch - 1, batch) if kind == "batch" else used):
                self._files.delete_file(path)

    def _present(self) -> Iterator[tuple[str, int, str]]:
        """List the files: kind, number and path. What a crash left in parts is overwritten."""
        where = fs.FileSelector(self._directory, allow_not_found=True)
        for info in self._files.get_file_info(where):
            kind, _, number = info.base_name.partition("-")
            if number.isdigit():
                yield kind, int(number), info.path

    def _read(self, name: str) -> bytes:
        with self._files.open_input_file(posixpath.join(self._directory, name)) as file:
            return file.read()

    def _write(self, name: str, content: bytes) -> None:
        """Write a file that appears whole or not at all."""
        path = posixpath.join(self._directory, name)
        with self._files.open_output_stream(f"{path}.part") as file:
            file.write(content)
        self._files.move(f"{path}.part", path)
