"""Read the arguments of `sort` and `wait`: waits, recalls, late policy and buckets."""

from collections.abc import Sequence
from typing import Any

from latecomer.api.arguments import is_number
from latecomer.errors import DurationError, OptionError, listed
from latecomer.time import Duration, duration_text, format_duration, parse_duration

MOST_BUCKETS = 65_536


def read_waits(wait: Duration | Sequence[Duration] | None) -> dict[int, str]:
    """Return one wait, or several in ascending order: in microseconds, each with its text."""
    given: list[Any] = [*wait] if isinstance(wait, list | tuple) else [wait]
    if given in ([None], []):
        raise DurationError(
            "the wait is missing: how long to wait for late rows.\n"
            'Hint: for example wait="10 minutes", or recall=0.999.'
        )
    waits = [parse_duration(each, "wait") for each in given]
    if waits != sorted(set(waits)):
        raise DurationError(
            "several waits must be in ascending order; got "
            f"{', '.join(map(format_duration, waits))}.\n"
            'Hint: for example ["1 second", "1 minute", "1 hour"].'
        )
    return dict(zip(waits, map(duration_text, given), strict=True))


def read_recalls(
    recall: float | Sequence[float] | None, wait: object, clock: Sequence[str]
) -> tuple[float, ...]:
    """Return the requested recalls; none if there are waits instead."""
    if recall is None:
        return ()
    given: list[Any] = [*recall] if isinstance(recall, list | tuple) else [recall]
    if wait is not None:
        raise OptionError(
            f"wait={wait!r} and recall={recall!r} cannot be combined, because a recall chooses the "
            "wait.\n"
            "Hint: leave out one of them."
        )
    for each in given:
        if not is_number(each) or not 0 < each <= 1:
            raise OptionError(
                f"recall must be above 0 and at most 1; got {each!r}.\n"
                "Hint: for 99 % of the rows use recall=0.99."
            )
    if not given or given != sorted(set(given)):
        raise OptionError(
            "several recalls must be in ascending order; got "
            f"{', '.join(map(str, given)) or 'none'}.\n"
            "Hint: for example recall=[0.9, 0.99, 0.999]."
        )
    if clock:
        raise OptionError(
            f"recall= cannot be combined with a clock for each {listed(clock)}, because the recall "
            "is that of a whole bucket.\n"
            "Hint: leave out clock= in disordered, or use a wait."
        )
    return tuple(map(float, given))


def read_within(within: Duration | None, recalls: tuple[float, ...]) -> int | None:
    """Return the length of the periods that should each have the recall, in microseconds."""
    if within is None:
        return None
    micros = parse_duration(within, "within")
    if not recalls or not micros:
        raise OptionError(
            f"within={within!r} is the length of the periods that each must have the recall; it "
            "must be longer than 0, and needs a recall.\n"
            'Hint: for example recall=0.99, within="1 hour".'
        )
    return micros


def check_buckets(buckets: int | None, *, has_key: bool = True) -> None:
    """Refuse a number of buckets that is out of range, or for a stream without a key."""
    if buckets is not None and not 1 <= buckets <= MOST_BUCKETS:
        raise OptionError(f"buckets must be from 1 to {MOST_BUCKETS:,}; got {buckets!r}.")
    if buckets is not None and not has_key:
        raise OptionError(
            "buckets= spreads rows by their key, and this stream has no key.\n"
            'Hint: name one with disordered(df, key="...").'
        )
