from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from latecomer.errors import StateFormatError
from latecomer.hosts.envelope import FORMAT, Envelope, Resumption, joined, parts

SCHEMA = pa.schema({"time": pa.int64(), "name": pa.string()})
QUERY = {"operators": ["Sort"], "wait": 5}
ENVELOPE = Envelope(QUERY, [SCHEMA], b"policy", {0: b"first\nchain", 7: b""})


def test_what_is_written_is_read_again() -> None:
    again = Envelope.read(ENVELOPE.write(), QUERY, [SCHEMA])

    assert again.policy == b"policy"
    assert again.chains == {0: b"first\nchain", 7: b""}
    assert [*again.schemas] == [SCHEMA]


def test_columns_that_are_not_given_are_those_that_were_written() -> None:
    assert [*Envelope.read(ENVELOPE.write(), QUERY, [None]).schemas] == [SCHEMA]


def test_any_list_of_bytes_is_read_as_it_was_written() -> None:
    pieces = [b"", b"\n\n", bytes(range(256)), b"{}"]

    assert parts(joined(pieces)) == pieces
    assert parts(joined(pieces, {"more": 1})) == pieces
    assert parts(joined([])) == []


@pytest.mark.parametrize(
    ("now", "words"),
    [
        ({"operators": ["Sort", "Sort"], "wait": 5}, "operators were Sort, are now Sort, Sort."),
        ({"operators": ["Sort"], "wait": 6}, "wait was 5 microseconds, is now 6 microseconds."),
        ({"operators": ["Sort"]}, "wait was 5 microseconds, is now not set."),
    ],
)
def test_another_query_is_refused_with_what_has_changed(now: dict[str, object], words: str) -> None:
    with pytest.raises(StateFormatError) as caught:
        Envelope.read(ENVELOPE.write(), now, [SCHEMA])

    assert f"the checkpoint was written by another query: {words}" in str(caught.value)
    assert "Hint: a changed query needs a new checkpoint" in str(caught.value)


@pytest.mark.parametrize(
    "other",
    [SCHEMA.append(pa.field("x", pa.int8())), pa.schema({"time": pa.int32(), "name": pa.string()})],
)
def test_other_columns_are_refused(other: pa.Schema) -> None:
    with pytest.raises(StateFormatError, match='holds rows with the columns "time" int64, "name"'):
        Envelope.read(ENVELOPE.write(), QUERY, [other])


def test_the_columns_of_every_stream_are_compared() -> None:
    two = replace(ENVELOPE, schemas=[SCHEMA, SCHEMA]).write()

    assert len(Envelope.read(two, QUERY, [SCHEMA, None]).schemas) == 2
    with pytest.raises(StateFormatError, match="the stream now has"):
        Envelope.read(two, QUERY, [SCHEMA, pa.schema({"x": pa.int8()})])


@pytest.mark.parametrize("written", [b"clocks\nARROW1", b'{"format": 1, "sizes": []}\n'])
def test_state_of_an_older_format_is_refused(written: bytes) -> None:
    with pytest.raises(StateFormatError, match=f"format 1; .* reads format {FORMAT}"):
        Envelope.read(written, QUERY, [SCHEMA])


@pytest.mark.parametrize(
    "written", [b"", b"{", b"[]\n", b"7\n", b'{"format": 4}\n', b'{"format": "4"}\n', b"\xff\n"]
)
def test_what_is_no_state_is_refused(written: bytes) -> None:
    with pytest.raises(StateFormatError, match=r"bytes of state that are damaged.\nHint: restore"):
        Envelope.read(written, QUERY, [SCHEMA])


def test_state_in_which_a_bit_has_flipped_is_refused() -> None:
    written = ENVELOPE.write()

    for at in range(8 * len(written)):
        flipped = bytearray(written)
        flipped[at // 8] ^= 1 << at % 8
        with pytest.raises(StateFormatError, match="Hint"):
            Envelope.read(bytes(flipped), QUERY, [SCHEMA])


def test_waits_that_a_query_has_had_before_are_those_of_each_stream() -> None:
    query = {"wait": 5, "waits of other streams": [6, 7]}
    state = Envelope(query, [SCHEMA], b"", {}).write()
    now = {"wait": 1, "waits of other streams": [2, 7]}

    assert Envelope.read(state, now, [SCHEMA], Resumption((5,), ((6,), (7,)))).query == now
    for former in (Resumption((4,), ((6,), (7,))), Resumption((5,), ((5,), (7,)))):
        with pytest.raises(StateFormatError, match="by another query: wait"):
            Envelope.read(state, now, [SCHEMA], former)
