"""A disk in memory that loses what a real disk may lose.

Every change is an *effect*, which is announced to a hook before it is made. The hook may end the
process, fill the disk, or let only half of a file be written. A power cut truncates files that were
not synced, and undoes the last renames and deletions that were not synced.
"""

from __future__ import annotations

import errno
import io
import os
import posixpath
from fnmatch import fnmatch
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import fs

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator

TORN, FULL = "torn", "full"
"""Values that the hook may return: write half of the file and crash, or find the disk full."""


class Crash(BaseException):
    """The process has died. No error handler may catch this."""


class Stopped(Exception):  # noqa: N818 - nothing has gone wrong
    """The user stopped the query. The process continues."""


class Disk:
    """Files by name."""

    def __init__(self, effect: Callable[[str, str], str | None]) -> None:
        """Create an empty disk; `effect` is called with a verb and a name before each change."""
        self.files: dict[str, bytes] = {}
        self.directories: set[str] = set()
        """Directories that exist even without files."""
        self.effect = effect
        self.unsynced: set[str] = set()
        self._undo: list[tuple[str, Callable[[], None]]] = []

    def write(self, path: str, content: bytes, *, synced: bool = True) -> None:
        """Write a file; one that is not synced may be lost in a power cut."""
        fate = self.effect("write", path)
        if fate == FULL:
            self.files[path] = content[: len(content) // 2]
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        before = self.files.get(path)
        if fate == TORN:
            self.files[path] = content[: len(content) // 2]
            raise Crash(path)
        self.files[path] = content
        if not synced:
            self.unsynced.add(path)
            self._undo.append((posixpath.dirname(path), lambda: self._put(path, before)))

    def read(self, path: str) -> bytes:
        """Read a file."""
        if path not in self.files:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return self.files[path]

    def move(self, old: str, new: str, *, synced: bool = True) -> None:
        """Rename a file, replacing any file of that name."""
        self.effect("move", f"{old} to {new}")
        content, before = self.read(old), self.files.get(new)
        self._put(old, None)
        self.files[new] = content
        if old in self.unsynced:
            self.unsynced.discard(old)
            self.unsynced.add(new)
        if not synced:

            def undo() -> None:
                self._put(new, before)
                self.files[old] = content

            self._undo.append((posixpath.dirname(new), undo))

    def delete(self, path: str) -> None:
        """Delete a file."""
        self.effect("delete", path)
        self.read(path)
        self._put(path, None)

    def below(self, directory: str) -> list[str]:
        """List the files below a directory, at any depth."""
        return sorted(name for name in self.files if name.startswith(f"{directory}/"))

    def sync(self, path: str) -> None:
        """Make the content of a file durable, or the names in a directory."""
        self.unsynced.discard(path)
        self._undo = [each for each in self._undo if each[0] != path]

    def power_cut(self, rng: random.Random) -> None:
        """Undo some of the last changes of names that were not synced, and truncate such files."""
        for _, undo in reversed(self._undo[rng.randint(0, len(self._undo)) :]):
            undo()
        for path in self.unsynced & self.files.keys():
            self.files[path] = self.files[path][: rng.randint(0, len(self.files[path]))]
        self.settle()

    def settle(self) -> None:
        """Mark everything as synced, as a real disk does after some time."""
        self._undo, self.unsynced = [], set()

    def flip(self, path: str, rng: random.Random) -> None:
        """Flip a bit of a file."""
        content = bytearray(self.files[path])
        if content:
            content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        self.files[path] = bytes(content)

    def _put(self, path: str, content: bytes | None) -> None:
        if content is None:
            self.files.pop(path, None)
        else:
            self.files[path] = content


class DiskPath:
    """The part of `pathlib.Path` that Latecomer uses."""

    disk: Disk

    def __init__(self, path: str) -> None:
        self._path = path

    def __truediv__(self, name: str) -> DiskPath:
        # As in pathlib, joining an empty name changes nothing.
        return type(self)(posixpath.join(self._path, name) if name else self._path)

    def __str__(self) -> str:
        return self._path

    def as_uri(self) -> str:
        return f"file://{self._path}"

    @property
    def name(self) -> str:
        return posixpath.basename(self._path)

    @property
    def parent(self) -> DiskPath:
        return type(self)(posixpath.dirname(self._path))

    def with_name(self, name: str) -> DiskPath:
        return self.parent / name

    def mkdir(self, *, parents: bool, exist_ok: bool) -> None:
        """Do nothing: a directory exists once it has files."""

    def is_file(self) -> bool:
        return self._path in self.disk.files

    def exists(self) -> bool:
        is_directory = self._path in self.disk.directories or bool(self.disk.below(self._path))
        return is_directory or self.is_file()

    def rglob(self, _pattern: str) -> Iterator[DiskPath]:
        return map(type(self), self.disk.below(self._path))

    def glob(self, pattern: str) -> Iterator[DiskPath]:
        start = len(self._path) + 1
        names = {name[start:].split("/")[0] for name in self.disk.below(self._path)}
        return (self / name for name in sorted(names) if fnmatch(name, pattern))

    def read_text(self, encoding: str, errors: str) -> str:
        return self.disk.read(self._path).decode(encoding, errors)

    def touch(self) -> None:
        self.disk.write(self._path, b"", synced=False)

    def open(self, _mode: str) -> _Written:
        return _Written(self.disk, self._path, synced=False)

    def replace(self, new: DiskPath) -> None:
        self.disk.move(self._path, str(new), synced=False)


class _Written(io.BytesIO):
    """A file open for writing. Its content is written in one effect, at flush or close."""

    def __init__(self, disk: Disk, path: str, *, synced: bool) -> None:
        super().__init__()
        self._disk, self._path, self._synced = disk, path, synced
        self._is_new = True

    def flush(self) -> None:
        if self._is_new and not self.closed and (self.tell() or self._synced):
            self._is_new = False
            self._disk.write(self._path, self.getvalue(), synced=self._synced)

    def close(self) -> None:
        if not self.closed:
            try:
                self.flush()
            finally:
                super().close()

    def fileno(self) -> Any:  # noqa: ANN401 - only handed back to `fake_os`
        return self._path


def fake_os(disk: Disk, locks: SimpleNamespace) -> SimpleNamespace:
    """Return the part of `os` that Latecomer uses."""

    def opened(path: DiskPath, _flags: int, _mode: int = 0) -> str:
        return str(path)

    def sync(file: str) -> None:
        disk.effect("sync", file)
        disk.sync(file)

    return SimpleNamespace(
        open=opened,
        close=locks.release,
        fsync=sync,
        getpid=os.getpid,
        O_RDONLY=os.O_RDONLY,
        O_CREAT=os.O_CREAT,
        O_RDWR=os.O_RDWR,
    )


class Handler(fs.FileSystemHandler):
    """The same files for Arrow. A move is a copy and a deletion, as in object stores."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk

    def get_type_name(self) -> str:
        return "chaos"

    def normalize_path(self, path: str) -> str:
        return path

    def get_file_info(self, paths: list[str]) -> list[fs.FileInfo]:
        files = self._disk.files
        return [
            fs.FileInfo(path, fs.FileType.File if path in files else fs.FileType.NotFound)
            for path in paths
        ]

    def get_file_info_selector(self, selector: fs.FileSelector) -> list[fs.FileInfo]:
        return [fs.FileInfo(name, fs.FileType.File) for name in self._disk.below(selector.base_dir)]

    def create_dir(self, path: str, recursive: bool) -> None:  # noqa: FBT001 - Arrow's own
        """Do nothing: a directory exists once it has files."""

    def delete_file(self, path: str) -> None:
        self._disk.delete(path)

    def move(self, src: str, dest: str) -> None:
        self._disk.write(dest, self._disk.read(src))
        self._disk.delete(src)

    def open_input_file(self, path: str) -> pa.NativeFile:
        return pa.BufferReader(self._disk.read(path))

    def open_output_stream(self, path: str, metadata: object) -> pa.NativeFile:
        return pa.PythonFile(_Written(self._disk, path, synced=True), mode="w")

    copy_file = delete_dir = delete_dir_contents = delete_root_dir_contents = None
    open_append_stream = open_input_stream = None
