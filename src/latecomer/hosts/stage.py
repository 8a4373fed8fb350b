"""A stage of a plan, running on one bucket: the one loop that both hosts use.

    clock, rows ─▶ clock policy ─▶ turns ─▶ chains of operators ─▶ outputs

The clock policy says which chains run in a micro-batch, with which rows and by which clock
(`hosts.clocks`); a chain drives operators through it. Operators are run nowhere else, so a row is
treated the same on both hosts.

    clock policy      chains
    one clock         one `OperatorChain`; for a window join, one `JoinChain`
    one per key       one `KeyedChain` for all keys, if the operators can; else one per key
    by recall         one `OperatorChain` for each recall; their first operators share what is held
"""

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa

from latecomer.batch import Batch
from latecomer.clock.watermark import Clock
from latecomer.errors import HeldLimitError, withheld
from latecomer.hosts.chain import Chain, OperatorChain
from latecomer.hosts.clocks.base import RunningPolicy
from latecomer.hosts.clocks.by_recall import ByRecall
from latecomer.hosts.clocks.one import One
from latecomer.hosts.clocks.per_key import PerKey
from latecomer.hosts.envelope import Envelope, Resumption, parts
from latecomer.hosts.identity import state_identity
from latecomer.hosts.join_chain import JoinChain
from latecomer.hosts.output import Output
from latecomer.operators.base import Chunks, Running
from latecomer.plan import Plan


class RunningStage:
    """A stage of a plan: its clocks, and a chain for each."""

    def __init__(
        self,
        plan: Plan,
        at: int,
        schema: pa.Schema | None,
        chunks: Callable[[int], Chunks],
        saved: bytes | None = None,
    ) -> None:
        """Start stage number `at` of the plan, from nothing or where `saved` left off.

        If no rows came, the schema may be None: the saved one is used. `chunks` returns the chunks
        of an operator, given its number.
        """
        self._plan = plan
        self._is_redacted = plan.is_redacted
        self._at = at
        self._chunks = chunks
        join = plan.stages[at].join
        if schema is None and plan.source.rows is not None:
            schema = plan.schema_at(at, plan.source.rows)
        schemas = [schema] if join is None else list(join.rows)
        self._query = state_identity(plan, at)
        # Columns may change only if the plan knows them: a bucket may wake without rows.
        new_columns = "refused" if plan.source.rows is None else plan.stages[at].new_columns
        others = [each.clock.former for each in plan.stages[at].rights]
        allowed = Resumption(plan.clock.former, others, new_columns)
        envelope = None if saved is None else Envelope.read(saved, self._query, schemas, allowed)
        if schema is None and envelope is not None:
            schema = envelope.schemas[0]
        if schema is None:
            raise AssertionError("a stage without rows and without a saved state")
        self._schema = schema
        self._schemas = [schema] if join is None else list(join.rows)
        self._saved = dict(envelope.chains) if envelope is not None else {}
        self._chains: dict[int, Chain] = {}
        self._levels: Sequence[Running] = ()
        known = envelope.policy if envelope is not None else None
        # A state that was saved with a chain for each key goes on with them.
        self._serves_all_keys = _serves_all_keys(plan) and not known
        self._policy = self._made_policy(known)
        if len(plan.clock.recalls) > 1 and plan.first is not None:
            slots = range(len(plan.clock.recalls))
            written = [parts(self._saved[slot])[0] if self._saved else None for slot in slots]
            own = [chunks(slot * plan.stages[at].width) for slot in slots]
            self._levels = plan.first.start_levels(schema, own, written)
        if not plan.clock.columns or self._serves_all_keys:
            for slot in range(max(1, len(plan.clock.recalls))):
                self._chain(slot)

    @property
    def held(self) -> int:
        """Number of rows, or states of rows, held; what several levels share is counted once."""
        return self._policy.held(self._chains) - sum(level.held for level in self._levels[:-1])

    @property
    def counted(self) -> tuple[int, int]:
        """Number of rows, and of states of windows, held; a stage holds only one of the two."""
        operators = self._plan.stages[self._at].operators
        is_windowed = bool(operators) and operators[0].holds == "windows"
        return (0, self.held) if is_windowed else (self.held, 0)

    def step(
        self, clock: Clock, inputs: Sequence[Sequence[Batch]], states: Sequence[Batch] = ()
    ) -> Iterator[Output]:
        """Run one micro-batch; see `Chain.step`."""
        with withheld(if_redacted=self._is_redacted):
            yield from self._stepped(clock, inputs, states)
        check_held(self._plan, self.held, f"one bucket of stage {self._at}", "use more buckets")

    def _stepped(
        self, clock: Clock, inputs: Sequence[Sequence[Batch]], states: Sequence[Batch]
    ) -> Iterator[Output]:
        for turn in self._policy.turns(clock, inputs, states):
            chain = self._chain(turn.slot)
            for output in chain.step(turn.clock, turn.inputs, turn.states):
                if (kept := self._policy.output(turn, output)) is not None:
                    yield kept
            self._policy.ran(turn, chain)
        yield from self._policy.after(clock, inputs)
        for slot in self._policy.forgotten():
            # An operator may drop its chunks only when it is saved.
            self._chain(slot).save()
            del self._chains[slot]
            self._saved.pop(slot, None)

    def due(self) -> int | None:
        """Return the smallest `newest` at which there will be something to do, if any."""
        return self._policy.due(self._chains)

    def states(self) -> list[Batch]:
        """Return the open states that are held, to be folded elsewhere; see `Running.states`."""
        chain = self._chain(0)
        return chain.states() if isinstance(chain, OperatorChain) else []

    def save(self) -> bytes:
        self._saved |= {slot: chain.save() for slot, chain in self._chains.items()}
        return Envelope(self._query, self._schemas, self._policy.save(), self._saved).write()

    def _chain(self, slot: int) -> Chain:
        """Return a chain; start it where it left off if it is not running."""
        if slot not in self._chains:
            self._chains[slot] = self._started(slot)
        return self._chains[slot]

    def _started(self, slot: int) -> Chain:
        plan, saved = self._policy.plan_of(slot), self._saved.get(slot)
        width, join = plan.stages[self._at].width, plan.stages[self._at].join
        chunks = [self._chunks(slot * width + number) for number in range(width)]
        if join is not None:
            return JoinChain(plan, join, chunks[0], saved)
        if self._serves_all_keys:
            # Workers import it only for keys with clocks of their own.
            from latecomer.hosts.keyed_chain import KeyedChain

            # There is one chain, so the number behind those of its operators is free.
            return KeyedChain(plan, self._schema, [*chunks, self._chunks(width)], saved)
        first = self._levels[slot] if self._levels else None
        return OperatorChain(plan, self._at, self._schema, chunks, saved, first)

    def _made_policy(self, saved: bytes | None) -> RunningPolicy:
        plan = self._plan
        if plan.clock.recalls and plan.first is not None:
            return ByRecall(plan, plan.first, self._schema, saved)
        if plan.clock.columns and not self._serves_all_keys:
            return PerKey(plan, self._schema, saved)
        return One(plan)


def _serves_all_keys(plan: Plan) -> bool:
    """Whether one chain serves all keys, each with a clock of its own.

    Its first operator takes the watermark of each key. The others process rows one by one, or
    follow the watermarks of all keys behind a sort.
    """
    operators = [operator for stage in plan.stages for operator in stage.operators]
    columns = plan.clock.columns
    if not (columns and operators and operators[0].clocked(columns)):
        return False
    is_one_stage = len(operators) == len(plan.stages[0].operators)
    is_sorted = operators[0].keeps_rows
    return is_one_stage and all(
        each.is_by_row or (is_sorted and each.follows_clocks(columns)) for each in operators[1:]
    )


def check_held(plan: Plan, held: int, where: str, remedy: str) -> None:
    """Refuse to hold more rows or states in one place than the plan allows.

    Raises:
        HeldLimitError: There are more.
    """
    limits = [each.source.held_limit for each in plan.inputs if each.source.held_limit]
    if limits and held > min(limits):
        shorter = "a lower recall" if plan.clock.recalls else "a shorter wait or lifetime"
        raise HeldLimitError(
            f"{where} holds {held:,} rows or states; held_limit allows {min(limits):,}.\n"
            f"Hint: {remedy}, {shorter}, or a higher limit; the last micro-batch was not committed."
        )
