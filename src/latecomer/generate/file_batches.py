"""Read the rows of large files batch by batch, in file order."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from latecomer.errors import OptionError
from latecomer.generate.files import open_rows, schema_of

_ROWS = 1 << 17
_AHEAD = 2
"""Batches read ahead. Arrow's default is 16, however large they are."""


def read_batches(
    paths: Iterable[str | Path],
    columns: Sequence[str],
    check: Callable[[pa.Schema], None] = lambda _: None,
) -> Iterator[pa.Table]:
    """Read files, or directories of files in the order of their names, one by one.

    An integer or time column may be wider in one file than in another. Otherwise a column must be
    of the same kind in all files.

    Only `columns` are read. `check` is called with the schema of each file before its rows are
    read, and may raise.

    Raises:
        OptionError: There is nothing to read, or the format is unknown.
    """
    before: list[pa.Schema] = []
    for path in map(Path, paths):
        try:
            found = open_rows(path)
            own = schema_of(found)
            check(own)
            schema = pa.schema([own.field(name) for name in columns])
            before = [pa.unify_schemas([*before, schema], promote_options="permissive")]
            rows = found.scanner(
                columns=list(columns),
                batch_size=_ROWS,
                batch_readahead=_AHEAD,
                fragment_readahead=1,
            )
            for batch in rows.to_batches():
                if batch.num_rows:
                    yield pa.Table.from_batches([batch]).cast(schema)
        except (pa.ArrowException, OSError) as error:
            raise OptionError(f'cannot read "{path}": {error}') from error
