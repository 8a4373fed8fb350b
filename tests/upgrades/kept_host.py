"""A local host whose state can be written to a file, and read from it."""

from __future__ import annotations

import json
import zipfile
from dataclasses import astuple
from typing import TYPE_CHECKING

from latecomer.batch import decode, encode
from latecomer.clock.silence import Silence
from latecomer.clock.source_clocks import SourceClocks
from latecomer.hosts.local import LocalHost, MemoryChunks
from latecomer.hosts.stage import RunningStage

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from latecomer.plan import Plan

_CLOCK, _SOURCES = "clock.json", "sources.json"


class KeptHost(LocalHost):
    """A local host whose state can be saved."""

    def __init__(self, plan: Plan, *schemas: pa.Schema, path: Path | None = None) -> None:
        """Start without a state, or from a file made by `write`."""
        self._kept: dict[str, bytes] = {}
        self._all_chunks: dict[str, MemoryChunks] = {}
        self._all_stages: dict[str, RunningStage] = {}
        if path is not None:
            with zipfile.ZipFile(path) as file:
                self._kept = {name: file.read(name) for name in file.namelist()}
        super().__init__(plan, *schemas)
        if self._kept:
            self._newest, silence = json.loads(self._kept[_CLOCK])
            self._silence = Silence(*silence)
            if _SOURCES in self._kept:
                self._sources = SourceClocks.read(self._kept[_SOURCES].decode())

    def _started(self, plan: Plan, at: int, schema: pa.Schema) -> RunningStage:
        name = f"{plan.source.number}-{at}"

        def chunks(operator: int) -> MemoryChunks:
            start = f"{name}/{operator}/"
            if start not in self._all_chunks:
                made = self._all_chunks[start] = MemoryChunks()
                for entry, blob in self._kept.items():
                    if entry.startswith(start):
                        made.put(int(entry.removeprefix(start)), decode(blob))
            return self._all_chunks[start]

        saved = self._kept.get(f"{name}/saved")
        self._all_stages[name] = RunningStage(plan, at, schema, chunks, saved)
        return self._all_stages[name]

    def write(self, path: Path) -> None:
        """Write the state to a file. The same state gives the same file."""
        entries = {_CLOCK: json.dumps([self._newest, astuple(self._silence)]).encode()}
        if self._sources.sources:
            entries[_SOURCES] = self._sources.save().encode()
        for name, stage in self._all_stages.items():
            entries[f"{name}/saved"] = stage.save()
        for start, chunks in self._all_chunks.items():
            for number, rows in chunks.batches.items():
                entries[f"{start}{number}"] = encode(rows, "lz4")
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
            for name in sorted(entries):
                file.writestr(zipfile.ZipInfo(name), entries[name], zipfile.ZIP_DEFLATED)
