from __future__ import annotations

from datetime import timedelta

import pytest

from latecomer.api.waiting import check_buckets, read_recalls, read_waits, read_within
from latecomer.errors import DurationError, OptionError

SECOND = 1_000_000


def test_one_wait_or_several_that_ascend_are_read() -> None:
    assert read_waits("10 seconds") == {10 * SECOND: "10 seconds"}
    assert read_waits(timedelta(seconds=1)) == {SECOND: "1 second"}
    assert read_waits(["0 s", "60  seconds"]) == {0: "0 s", 60 * SECOND: "60 seconds"}


@pytest.mark.parametrize("wait", [None, [], [None]])
def test_a_wait_must_be_given(wait: object) -> None:
    with pytest.raises(DurationError, match="the wait is missing: how long to wait for late rows"):
        read_waits(wait)  # type: ignore[arg-type]


@pytest.mark.parametrize("waits", [["2 s", "1 s"], ["1 s", "1000 ms"]])
def test_several_waits_must_grow(waits: list[str]) -> None:
    with pytest.raises(
        DurationError, match=r"several waits must be in ascending order; got .* second"
    ):
        read_waits(waits)


def test_recalls_are_shares_that_grow() -> None:
    assert read_recalls(None, "1 s", ()) == ()
    assert read_recalls(1, None, ()) == (1.0,)
    assert read_recalls([0.9, 0.99], None, ()) == (0.9, 0.99)


@pytest.mark.parametrize(
    ("recall", "words"),
    [
        (0, "above 0 and at most 1; got 0"),
        (1.01, "above 0 and at most 1; got 1.01"),
        (True, "above 0 and at most 1; got True"),
        ("0.9", "above 0 and at most 1; got '0.9'"),
        ([0.9, 0.9], "several recalls must be in ascending order; got 0.9, 0.9"),
        ([], "several recalls must be in ascending order; got none"),
    ],
)
def test_an_invalid_recall_is_refused(recall: object, words: str) -> None:
    with pytest.raises(OptionError) as caught:
        read_recalls(recall, None, ())  # type: ignore[arg-type]

    assert words in str(caught.value)
    assert "\nHint: " in str(caught.value)


def test_a_recall_excludes_waits_and_clocks_of_keys() -> None:
    with pytest.raises(OptionError, match=r"wait='1 s' and recall=0\.9 cannot be combined"):
        read_recalls(0.9, "1 s", ())
    with pytest.raises(OptionError, match='a clock for each "a", "b"'):
        read_recalls(0.9, None, ("a", "b"))


def test_a_period_needs_a_recall_and_some_time() -> None:
    assert read_within(None, ()) is None
    assert read_within("1 hour", (0.99,)) == 3_600_000_000
    for within, recalls in [("1 hour", ()), ("0 seconds", (0.99,))]:
        with pytest.raises(OptionError, match="longer than 0, and needs a recall"):
            read_within(within, recalls)


def test_buckets_are_some_and_need_a_key() -> None:
    for buckets in (None, 1, 65_536):
        check_buckets(buckets)
    check_buckets(None, has_key=False)

    for buckets in (0, -1, 65_537):
        with pytest.raises(OptionError, match=f"buckets must be from 1 to 65,536; got {buckets}"):
            check_buckets(buckets)
    with pytest.raises(
        OptionError, match="buckets= spreads rows by their key, and this stream has no key"
    ):
        check_buckets(4, has_key=False)
