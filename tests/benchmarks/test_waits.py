"""Each wait of the benchmark counts its own results, and longer waits count more rows."""

from benchmarks.waits_local import local, table2


def test_longer_waits_are_more_complete() -> None:
    lines = list(table2(30_000, ["android"], []))
    shares = [line["percent"] for line in lines]

    assert len(shares) > 1
    assert shares == sorted(shares)
    assert 0 < shares[0] < shares[-1] <= 100


def test_one_pass_is_measured_beside_the_other_ways() -> None:
    (*_, line) = local(30_000, ["cloud"], ["Q1"])

    assert line["cell"].startswith("local cloud Q1 every ")
