"""The processes started by this one."""

from __future__ import annotations

import os
from pathlib import Path


def descendants() -> dict[int, str]:
    """Return the commands of the processes started by this one and by its children."""
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
    """Return the id of a process's parent; None if the process has ended."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None


def resident(pid: int) -> int:
    """Return the private memory of a process, in MiB."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    private = (line.split() for line in lines if line.startswith("Private_"))
    return sum(int(fields[1]) for fields in private) >> 10


def processor_seconds(apart: int | None = None) -> float:
    """Return the processor time of all processes below this one and of their ended children.

    Unlike elapsed time, it depends little on other load.

    Args:
        apart: A process to leave out.
    """
    ticks = 0
    for pid in descendants().keys() - {apart}:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")
