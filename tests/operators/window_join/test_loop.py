"""The whole loop, compared with all combinations of rows."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from latecomer.arrays import read_arrays, write_arrays
from latecomer.operators.window_join.buffer_size_manager import Quality
from latecomer.operators.window_join.equalities import Equalities
from latecomer.operators.window_join.held_rows import HeldRows
from latecomer.operators.window_join.joiner import Probes, WindowJoin
from latecomer.operators.window_join.loop import JoinLoop, Wait, intervals
from latecomer.operators.window_join.reordering import Arrivals, Reordering
from latecomer.operators.window_join.tuples import Tuples
from tests.support import brute
from tests.support.join_twin import line_by_line

SCHEMA = pa.schema({"key": pa.int64()})
SMALL = {"period": 8, "interval": 2, "granularity": 1, "basic_window": 1}


def arrived(tuples: Sequence[brute.Tuple]) -> Arrivals:
    streams, times = (np.array([each[i] for each in tuples], np.int64) for i in range(2))
    rows = np.empty(len(tuples), np.int64)
    for stream in set(streams.tolist()):
        rows[streams == stream] = np.arange((streams == stream).sum())
    return Arrivals(streams, times, rows)


class Step(NamedTuple):
    """One interval: its wait, its joined tuples, the clock after it, and counts of hindsight."""

    wait: int
    probes: Probes
    clock: int
    known: tuple[float, float] | None


def play(
    tuples: Sequence[brute.Tuple], windows: tuple[int, ...], wait: Wait, interval: int = 2
) -> tuple[JoinLoop, list[Step]]:
    many = len(windows)
    tables = [pa.table([[v for s, _, v in tuples if s == i]], schema=SCHEMA) for i in range(many)]
    rows = HeldRows([SCHEMA] * many)
    for stream, table in enumerate(tables):
        rows.add(stream, table)
    asked = WindowJoin(windows, Equalities.common(*["key"] * many))
    loop = JoinLoop(asked, rows, wait)
    steps = []
    for part in intervals(arrived(tuples), interval):
        wait, probes = loop.wait, loop.take_in(part)
        steps.append(Step(wait, probes, loop.clock, known(loop)))
        loop.choose()
    probes = loop.finish()
    return loop, [*steps, Step(loop.wait, probes, loop.clock, known(loop))]


def known(loop: JoinLoop) -> tuple[float, float] | None:
    return loop.hindsight.settled() if loop.hindsight else None


def found(tuples: Sequence[brute.Tuple], steps: Iterable[Step]) -> list[brute.Result]:
    """Return results as positions of their tuples among the arrivals."""
    places: list[list[int]] = [[] for _ in range(5)]
    for at, (stream, _, _) in enumerate(tuples):
        places[stream].append(at)
    return [
        (time, tuple(places[stream][row] for stream, row in enumerate(rows)))
        for step in steps
        for time, rows in zip(step.probes.times.tolist(), step.probes.results.tolist(), strict=True)
    ]


def alike(values: tuple[int, ...]) -> bool:
    return len(set(values)) == 1


def streams(many: int) -> st.SearchStrategy[list[brute.Tuple]]:
    each = st.tuples(st.integers(0, many - 1), st.integers(-8, 12), st.integers(0, 1))
    return st.lists(each, max_size=24)


@given(tuples=streams(3))
def test_a_wait_for_all_rows_finds_all_results(tuples: list[brute.Tuple]) -> None:
    _, steps = play(tuples, (3, 2, 4), wait=20)

    assert sorted(found(tuples, steps)) == brute.every_result(tuples, (3, 2, 4), alike)


@given(
    tuples=streams(3),
    wait=st.one_of(
        st.integers(0, 12),
        st.just("max"),
        st.builds(
            Quality,
            st.sampled_from([0.0, 0.5, 0.9, 1.0]),
            selectivity=st.sampled_from(["EqSel", "NonEqSel"]),
            feedback=st.sampled_from(["calibrated", "paper", "none"]),
            **{name: st.just(value) for name, value in SMALL.items()},
        ),
    ),
)
def test_a_shorter_wait_finds_some_results_once_and_in_order(
    tuples: list[brute.Tuple], wait: Wait
) -> None:
    _, steps = play(tuples, (3, 2, 4), wait)
    results = found(tuples, steps)

    assert set(results) <= set(brute.every_result(tuples, (3, 2, 4), alike))
    assert len(set(results)) == len(results)
    assert [time for time, _ in results] == sorted(time for time, _ in results)


@given(
    tuples=streams(3),
    wait=st.one_of(
        st.integers(0, 12),
        st.just("max"),
        st.builds(
            Quality,
            st.sampled_from([0.5, 0.9]),
            feedback=st.sampled_from(["calibrated", "paper", "none"]),
            **{name: st.just(value) for name, value in SMALL.items()},
        ),
    ),
)
def test_the_loop_does_what_it_does_line_by_line(tuples: list[brute.Tuple], wait: Wait) -> None:
    _, steps = play(tuples, (3, 2, 4), wait)
    with line_by_line():
        _, expected = play(tuples, (3, 2, 4), wait)

    assert [told(step) for step in steps] == [told(step) for step in expected]


def told(step: Step) -> list[object]:
    probes = step.probes
    arrays = (probes.in_order, probes.since, probes.cross, probes.joined, probes.times)
    results = sorted(probes.results.tolist())
    return [step.wait, step.clock, step.known, results, *(each.tolist() for each in arrays)]


@given(tuples=streams(2))
def test_every_tuple_reaches_the_join_once(tuples: list[brute.Tuple]) -> None:
    _, steps = play(tuples, (3, 3), Quality(0.5, **SMALL))  # type: ignore[arg-type]
    received = sorted(
        (int(s), int(r))
        for p in steps
        for s, r in zip(p.probes.tuples.streams, p.probes.tuples.rows, strict=True)
    )

    given_rows = arrived(tuples)
    assert received == sorted(
        zip(given_rows.streams.tolist(), given_rows.rows.tolist(), strict=True)
    )


@st.composite
def in_lockstep(draw: st.DrawFn) -> tuple[list[brute.Tuple], list[int], int]:
    """Return streams that advance together at fixed distances, with late tuples between rounds."""
    many = draw(st.integers(2, 3))
    ahead = draw(st.lists(st.integers(0, 4), min_size=many, max_size=many))
    waits = draw(st.lists(st.integers(0, 5), min_size=many, max_size=many))
    tuples: list[brute.Tuple] = []
    for now in range(40):
        tuples += [(stream, now + ahead[stream], now % 3) for stream in range(many)]
        # Before this, some clocks have not started. After this, some tuples would not come out.
        if 15 <= now < 25:
            late = st.tuples(st.integers(0, many - 1), st.integers(1, 6), st.integers(0, 2))
            for stream, delay, value in draw(st.lists(late, max_size=2)):
                tuples.append((stream, now + ahead[stream] - delay, value))
    same = min(ahead) - min(a - w for a, w in zip(ahead, waits, strict=True))
    return tuples, waits, same


@given(case=in_lockstep())
def test_one_wait_for_all_streams_does_what_different_ones_do(
    case: tuple[list[brute.Tuple], list[int], int],
) -> None:
    tuples, waits, same = case

    def results(waits: list[int]) -> list[brute.Result]:
        # With one stream this is a K-slack buffer, and without a wait it is the Synchronizer.
        buffers, together = [Reordering(1) for _ in waits], Reordering(len(waits))
        received = Tuples.none()
        for at, (stream, time, _) in enumerate(tuples):
            came = Arrivals(np.array([0]), np.array([time]), np.array([at]))
            some = buffers[stream].push(came, waits[stream])
            streams = np.full(len(some), stream)
            received += together.push(Arrivals(streams, some.times, some.rows), 0)
        places = received.rows.tolist()
        joined = brute.joined([tuples[at] for at in places], (4,) * len(waits), alike)
        return sorted((time, tuple(places[i] for i in rows)) for time, rows in joined)

    until = 28
    own, common = ([r for r in results(w) if r[0] <= until] for w in (waits, [same] * len(waits)))
    assert own == common


def test_a_few_rows_and_none() -> None:
    assert found([], play([], (3, 3), 0)[1]) == []
    assert found([(0, 5, 1)], play([(0, 5, 1)], (3, 3), "max")[1]) == []
    pair = [(0, -5, 1), (1, -5, 1)]
    assert found(pair, play(pair, (0, 0), 0)[1]) == [(-5, (0, 1))]


def test_lost_results_are_known_in_hindsight() -> None:
    # 4 comes too late to join 6, so one of two results is lost.
    tuples = [
        (0, 2, 1),
        (1, 2, 1),
        (0, 9, 0),
        (1, 6, 1),
        (1, 9, 0),
        (0, 4, 1),
        (0, 30, 7),
        (1, 30, 8),
    ]
    loop, steps = play(tuples, (3, 3), Quality(0.0, **SMALL))  # type: ignore[arg-type]
    every = brute.every_result(tuples, (3, 3), alike)

    assert loop.hindsight is not None
    produced, true = loop.hindsight.settled()
    assert true - produced == len(every) - len(found(tuples, steps)) > 0


COUNTED = Quality(1.0, **SMALL)  # type: ignore[arg-type]


def looking_back(tuples: Sequence[brute.Tuple]) -> tuple[WindowJoin, HeldRows]:
    rows = HeldRows([SCHEMA] * 2)
    for stream in range(2):
        rows.add(stream, pa.table([[v for s, _, v in tuples if s == stream]], schema=SCHEMA))
    return WindowJoin((3, 2), Equalities.common("key", "key")), rows


@given(tuples=streams(2), wait=st.integers(0, 20), reached=st.sets(st.integers(0, 15), max_size=3))
def test_hindsight_that_shares_the_buffers_of_the_join_counts_as_one_of_its_own(
    tuples: list[brute.Tuple], wait: int, reached: set[int]
) -> None:
    asked, rows = looking_back(tuples)
    shared, apart = (JoinLoop(asked, rows, wait, counted=COUNTED) for _ in range(2))
    assert apart.hindsight
    apart.hindsight.go_apart()

    for number, part in enumerate(intervals(arrived(tuples), 2)):
        restored = JoinLoop(asked, rows, wait, counted=COUNTED)
        restored.load(read_arrays(write_arrays(shared.save())))
        shared = restored
        for each in (shared, apart):
            each.take_in(part)
            if number in reached:
                each.reach(each.newest + 4)
            each.choose()
        assert known(shared) == known(apart)
        assert shared.undecided == apart.undecided
        assert {*places(shared.held)} == {*places(apart.held)}
    for each in (shared, apart):
        each.finish()
    assert shared.hindsight
    assert apart.hindsight
    assert shared.hindsight.settled(is_over=True) == apart.hindsight.settled(is_over=True)


def places(tuples: Tuples) -> list[tuple[int, int]]:
    return list(zip(tuples.streams.tolist(), tuples.rows.tolist(), strict=True))


def test_hindsight_is_saved_only_if_it_has_buffers_of_its_own() -> None:
    tuples = [(0, 2, 1), (1, 2, 1), (0, 9, 0), (1, 4, 1)]
    asked, rows = looking_back(tuples)
    loop = JoinLoop(asked, rows, 5, counted=COUNTED)

    loop.take_in(arrived(tuples))
    assert not any(name.startswith("hindsight.reordering") for name in loop.save())

    loop.take_in(Arrivals(np.array([0]), np.array([1]), np.array([0])))
    assert any(name.startswith("hindsight.reordering") for name in loop.save())


@pytest.mark.parametrize("feedback", ["calibrated", "none", "paper"])
def test_the_same_tuples_give_the_same_waits(feedback: str) -> None:
    random = np.random.default_rng(3)
    now = np.repeat(np.arange(900), 2)
    times = now - random.choice([0, 0, 0, 1, 3, 9], 1_800)
    tuples = list(
        zip(np.tile([0, 1], 900).tolist(), times.tolist(), (now % 2).tolist(), strict=True)
    )
    quality = Quality(0.9, 60, 10, 1, 1, feedback=feedback)  # type: ignore[arg-type]

    one, other = (play(tuples, (5, 5), quality, 10)[1] for _ in range(2))

    assert [step.wait for step in one] == [step.wait for step in other]
    assert len({step.wait for step in one}) > 1


def test_an_interval_ends_where_the_newest_time_enters_another() -> None:
    tuples = [(0, time, 0) for time in (1, 9, 12, 8, 35, 36, 20)]

    assert [part.times.tolist() for part in intervals(arrived(tuples), 10)] == [
        [1, 9],
        [12, 8],
        [35, 36, 20],
    ]
