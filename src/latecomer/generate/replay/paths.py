"""Find the Parquet files that a path stands for: a file, a directory, or a pattern."""

import glob
from pathlib import Path

from latecomer.errors import OptionError


def find_files(path: str) -> dict[str, Path]:
    """Return the files at a path, by their names below it.

    The names, not the whole paths, go into checkpoints, because a directory may be moved. Names
    that begin with a dot or an underscore are skipped: they are unfinished, or are not data.
    """
    place = Path(path.removeprefix("file:")).absolute()
    if place.is_file():
        return {place.name: place}
    if place.is_dir():
        root, found = place, [str(file) for file in place.glob("*.parquet")]
    else:
        root = next(above for above in place.parents if not glob.has_magic(str(above)))
        found = glob.glob(str(place), recursive=True)  # noqa: PTH207  Path.glob wants it relative
    files = {Path(name).relative_to(root): Path(name) for name in found}
    data = {
        name.as_posix(): file
        for name, file in files.items()
        if file.is_file() and not any(part[0] in "._" for part in name.parts)
    }
    if not data:
        raise OptionError(
            f'no Parquet files at "{path}".\n'
            "Hint: give a file, a directory with *.parquet files in it, or a pattern, on a disk "
            "that the driver and all executors see."
        )
    return dict(sorted(data.items()))
