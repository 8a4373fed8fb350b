import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from latecomer.errors import OptionError, StateFormatError
from latecomer.hosts.spark.upsert.manifest import KEPT, Manifest, State


def test_a_manifest_goes_back_a_few_batches_and_no_further() -> None:
    manifest = Manifest(("k",), {})
    for number in range(KEPT):
        manifest = manifest.with_state(State(number))

    assert manifest.before(KEPT).batch == KEPT - 1
    assert manifest.before(1).batch == 0
    with pytest.raises(OptionError, match=r"up to 5 and can go back to 1; got micro-batch 0\.\n"):
        manifest.before(0)


def test_a_manifest_of_another_format_is_refused() -> None:
    with pytest.raises(StateFormatError, match="manifest in format 1"):
        Manifest.from_record({**Manifest(("k",), {}).to_record(), "format": 1})


@given(st.lists(st.tuples(st.sets(st.sampled_from("ABCDEFGH"), min_size=1), st.booleans())))
def test_no_place_is_written_that_a_state_refers_to_and_dead_parts_are_few(
    batches: list[tuple[set[str], bool]],
) -> None:
    manifest = Manifest(("k",), {})
    disk: dict[tuple[str, str], int] = {}
    truth = {-1: dict[str, int]()}

    def put(parts: set[str] | list[str], place: str, content: dict[str, int]) -> None:
        for old in [where for where in disk if where[0] == place]:
            del disk[old]
        disk.update({(place, part): content[part] for part in parts})

    number = -1
    for at, (touched, is_again) in enumerate(batches):
        number += 0 if is_again and number >= 0 else 1
        before = manifest.before(number)
        content = {**truth[before.batch], **dict.fromkeys(touched, at)}
        free = manifest.free("r1")
        state = State(number, before.place_of, before.written)
        for parts in (touched, None):
            moving = state.resting() if parts is None else parts
            if moving:
                put(moving, place := next(free), content)
                state = state.moved(moving, place)
            for kept in manifest.states:
                assert {p: disk[w, p] for p, w in kept.place_of.items()} == truth[kept.batch]
        truth[number] = content
        written = json.dumps(manifest.with_state(state).to_record())
        manifest = Manifest.from_record(json.loads(written))

        assert manifest.states[-1] == state
        assert sum(state.written.values()) <= 2 * len(state.place_of)
        assert all(int(place.removesuffix("-r1")) <= 8 + 2 * (KEPT + 1) for place, _ in disk)


def test_a_place_without_current_rows_is_forgotten() -> None:
    state = State(0).moved(["A", "B"], "0").moved(["B"], "1")

    assert state.place_of == {"A": "0", "B": "1"}
    assert state.written == {"0": 2, "1": 1}
    assert state.moved(["A"], "2").written == {"1": 1, "2": 1}
    assert state.without(["B"]).written == {"0": 2}
    assert state.without([]) == state


def test_parts_that_are_less_than_half_of_their_place_are_moved_to_rest() -> None:
    state = State(0).moved(["A", "B", "C"], "0").moved(["C"], "1")

    assert state.resting() == []
    assert state.moved(["B"], "2").resting() == ["A"]
