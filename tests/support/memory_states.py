"""In-memory versions of the states that Spark keeps for a processor."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any


class Value:
    """A value state."""

    def __init__(self) -> None:
        self.value: Any = None
        self.asked: list[str] = []
        """The calls so far. On Spark each is a round trip."""

    def exists(self) -> bool:
        self.asked.append("exists")
        return self.value is not None

    def get(self) -> Any:  # noqa: ANN401
        self.asked.append("get")
        return self.value

    def update(self, value: Any) -> None:  # noqa: ANN401
        self.asked.append("update")
        self.value = value


class Handle:
    """The handle that Spark passes to a processor. It outlives the processor, like a checkpoint."""

    def __init__(self) -> None:
        self.values: dict[str, Value] = {}
        self.chunks: dict[tuple[int, int], tuple[bytes]] = {}
        self.timers: set[int] = set()

    def getValueState(self, name: str, _schema: object) -> Value:  # noqa: N802
        return self.values.setdefault(name, Value())

    def getMapState(self, _name: str, _key: object, _value: object) -> SimpleNamespace:  # noqa: N802
        chunks = self.chunks
        return SimpleNamespace(
            getValue=chunks.__getitem__, updateValue=chunks.__setitem__, removeKey=chunks.pop
        )

    def registerTimer(self, at: int) -> None:  # noqa: N802
        self.timers.add(at)

    def deleteTimer(self, at: int) -> None:  # noqa: N802
        self.timers.remove(at)
