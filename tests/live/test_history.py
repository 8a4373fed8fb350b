from __future__ import annotations

from itertools import pairwise

from latecomer.live.history import History, Sample, delays, key_text, late_shares, target
from tests.support.statuses import START, status

SECOND = 1_000_000


def history(count: int, most: int = 500) -> History:
    found = History(most)
    for batch in range(count):
        found.add(status(batch), START + batch * SECOND)
    return found


def test_a_history_keeps_the_last_samples_and_some_of_all_before() -> None:
    found = history(1_000, most=9)

    batches = [sample.status["batch"] for sample in found.since(None)]
    assert batches[-9:] == list(range(991, 1_000))
    assert batches[0] == 0
    assert len(batches) <= 18
    # Older points are spread evenly.
    steps = {after - before for before, after in pairwise(batches[:-9])}
    assert len(steps) == 1


def test_while_nothing_happens_the_last_sample_is_replaced() -> None:
    found = History()
    for second in range(5):
        found.add(status(3), START + second * SECOND)

    assert [sample.at for sample in found.since(None)] == [START, START + 4 * SECOND]


def test_a_part_of_the_history_can_be_selected() -> None:
    assert len(history(100).since(10 * SECOND)) == 11


def test_a_copy_stays_as_it_is() -> None:
    first = history(3)
    other = first.copy()
    first.add(status(9), START + 9 * SECOND)

    assert (len(other.since(None)), len(first.since(None))) == (3, 4)


def test_late_shares_are_those_between_two_samples() -> None:
    before, now = Sample(0, status(0)), Sample(5, status(1))

    # 10,000 rows more, of which 7 are late.
    assert late_shares([before, now]) == [(5, 0.0007)]


def test_a_look_without_new_rows_has_no_share_and_breaks_no_line() -> None:
    samples = [Sample(0, status(0)), Sample(1, status(0)), Sample(2, status(1))]

    assert late_shares(samples) == [(2, 0.0007)]


def test_no_share_is_known_when_counts_fall() -> None:
    assert late_shares([Sample(0, status(4)), Sample(5, status(1))]) == [(5, None)]


def test_delays_are_rounded_up_to_their_bounds_and_longer_ones_are_in_the_total_only() -> None:
    sample = Sample(0, {"delays": [[0, 60], [1_000, 30], [None, 10]]})

    counts, total = delays(sample) or (None, 0)

    assert counts is not None
    assert (counts.in_time([0, 1_000_000]), counts.largest, total) == ([60, 90], 1_000_000, 100)


def test_delays_of_earlier_rows_can_be_left_out() -> None:
    before = Sample(0, {"delays": [[0, 60], [1_000, 30]]})
    now = Sample(0, {"delays": [[0, 65], [1_000, 31]]})

    counts, total = delays(now, before) or (None, 0)

    assert counts is not None
    assert (counts.rows.tolist(), total) == ([5, 1], 6)
    # With a new checkpoint all counts start again.
    assert (delays(before, now) or (None, 0))[1] == 90


def test_unknown_values_are_none_or_empty() -> None:
    sample = Sample(0, {})

    assert (sample.rows("in"), sample.late, sample.late_rows) == (None, {}, 0)
    assert (sample.micros("batch_ms"), sample.listed("keys"), delays(sample)) == (None, [], None)
    assert [*sample.recalls(), *sample.waits()] == []


def test_recalls_and_waits_have_names() -> None:
    sample = Sample(0, status(1))

    assert dict(sample.recalls()) == {
        "wait 1 second": 0.9,
        "wait 1 minute": 0.991,
        "recall 99 %": 0.9853,
    }
    assert dict(sample.waits()) == {"recall 99 %": 700_000}
    assert target({"target": None}) == "fixed wait"
    assert (key_text({"a": 1, "b": "x"}), key_text("plain")) == ("1, x", "plain")
