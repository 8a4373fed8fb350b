"""The processes that this one has started."""

from __future__ import annotations

import os
from pathlib import Path


def descendants() -> dict[int, str]:
    """List the processes that this one and its children have started, with their commands."""
    parents = {int(each.name): parent(int(each.name)) for each in Path("/proc").glob("[0-9]*")}
    ours = {os.getpid()}
    while added := {pid for pid, above in parents.items() if above in ours} - ours:
        ours |= added
    found = {}
    for pid in ours - {os.getpid()}:
        try:
            line = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        found[pid] = line.replace(b"\0", b" ").decode(errors="replace")
    return found


def parent(pid: int) -> int | None:
    """Return the number of the process that has started another; None if that is gone."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None


def resident(pid: int) -> int:
    """Return the memory of a process that it shares with no other, in MiB."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    private = (line.split() for line in lines if line.startswith("Private_"))
    return sum(int(fields[1]) for fields in private) >> 10


def processor_seconds(apart: int | None = None) -> float:
    """Return what all processes below this one have used, with those that they have waited for.

    Unlike the time on the wall, it depends little on what else the machine does.

    Args:
        apart: A process that is not counted.
    """
    ticks = 0
    for pid in descendants().keys() - {apart}:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")
