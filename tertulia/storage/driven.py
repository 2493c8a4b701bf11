"""The store of a running conversation. It keeps rows that it has just written, and writes deferrable rows together.

1. The driver of a run holds its lock, so no other process writes its turns, steps, candidates and calls. This object
   returns those that it has written or read before from memory, equal to a new reading.
2. Prompts, candidates and steps wait for the next call of a model, or for the turn: they are stored in its transaction,
   before it. If the process dies, an unfinished turn starts over from the stored calls, and makes the unstored rows
   again.
3. The questions to a person in a seat and their answers pass between processes: such a run is driven over a plain
   store. In a pause (`state.line_edit`), too, nothing is kept and nothing waits.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from typing_extensions import override

from tertulia.state.cognition import Assessment, Call, Trace
from tertulia.state.line_edit import STEPS as PAUSE_STEPS
from tertulia.state.records import Candidate, Prompt, Record, Turn, TurnRecord
from tertulia.state.store import AnyRecord
from tertulia.storage.kept_contents import kept_contents
from tertulia.storage.parts.cognition import step_row
from tertulia.storage.parts.contents import UnitKey
from tertulia.storage.parts.turns import candidate_row
from tertulia.storage.store import SqlStore
from tertulia.storage.tables import Table

#: Turns and prompts of the run that are kept: prompts show fewer lines, and speakers look for their last one in these.
_TURNS_KEPT, _PROMPTS_KEPT = 160, 8

#: Rounds whose steps and candidates are kept, beside the preparation before the first.
_ROUNDS_KEPT = 2


class DrivenStore(SqlStore):
    """A store for the driver of a run, over the connection of a plain one, in its thread."""

    def __init__(self, store: SqlStore, run: str) -> None:
        super().__init__(store.file, store.path)
        self._run, self._contents = run, kept_contents(store.file)
        # They wait until they are stored, even after an interrupt: a call under way may name them.
        self._new_prompts: dict[str, Prompt] = {}
        self._defers = False
        self.forget()

    def forget(self) -> None:
        """Forget the kept and the waiting rows: the run starts over from the stored rows."""
        self._contents.forget_rows()
        self._prompts: dict[str, Prompt] = {}
        self._turns: dict[int, Turn] = {}
        self._records: dict[int, TurnRecord] = {}
        self._candidates: dict[int, dict[str, dict[int, Candidate]]] = {}
        self._steps: dict[int, dict[tuple[str, str], Record]] = {}
        self._begun: tuple[int, int, int] | None = None
        self._forgotten = 0, 0  # the last turn whose candidates, and the last round whose steps, are no longer kept
        self._called: dict[int, set[tuple[str, str, int]]] = {}  # by round
        self._uncalled = 0  # the last round whose calls are no longer kept
        self._await_write()

    def _await_write(self) -> None:
        self._new_candidates: dict[tuple[int, str, int], tuple[str, dict[str, Any]]] = {}
        self._new_steps: dict[tuple[int, str, str], tuple[dict[str, Any], Record]] = {}

    @contextmanager
    def deferring(self) -> Iterator[None]:
        """Store deferrable rows with the next call or turn; store the waiting rows after a failure, too."""
        self.forget()
        self._defers = True
        try:
            yield
            self.flush()
        except Exception:
            self.flush()
            raise
        finally:
            self._defers = False
            self._await_write()

    def flush(self) -> None:
        """Store the waiting rows."""
        if not (self._new_prompts or self._new_candidates or self._new_steps):
            return
        with self.file.joined():
            if self._new_prompts:
                self.save_prompts(self._new_prompts)
                self._new_prompts = {}
            if self._new_candidates:
                texts = self.text_ids(dict.fromkeys(text for text, _ in self._new_candidates.values()))
                rows = [row | {"content_id": texts[text]} for text, row in self._new_candidates.values()]
                Table(self.file, "candidates").insert_all(rows, replace=True)
            if self._new_steps:
                Table(self.file, "steps").insert_all([row for row, _ in self._new_steps.values()], replace=True)
                for (round, agent, _), (_, record) in self._new_steps.items():
                    if isinstance(record, Assessment):
                        self.save_passage(self._run, round, agent, "thought", record.thought)
        self._await_write()

    def _flush_if_at_once(self) -> None:
        if not self._defers:
            self.flush()

    # --- texts and prompts ------------------------------------------------------------------------------------------

    @override
    def text_ids(self, texts: Iterable[str]) -> dict[str, int]:
        return self._contents.text_ids(texts, super().text_ids, self.file.undone)

    @override
    def unit_ids(self, keys: Collection[UnitKey]) -> dict[UnitKey, int]:
        return self._contents.unit_ids(keys, super().unit_ids, self.file.undone)

    @override
    def save_prompt(self, prompt: Prompt) -> str:
        # An answer mostly takes the prompt that was retrieved for it.
        same = (content for content, kept in self._prompts.items() if kept is prompt)
        content = next(same, None) or self._contents.prompt_hash(prompt)
        if content not in self._prompts:
            self._new_prompts[content] = prompt
            self._flush_if_at_once()
        self._keep_prompt(content, prompt)
        return content

    @override
    def prompt(self, content: str) -> Prompt:
        prompt = self._prompts.get(content) or self._new_prompts.get(content) or super().prompt(content)
        return self._keep_prompt(content, prompt)

    def _keep_prompt(self, content: str, prompt: Prompt) -> Prompt:
        self._prompts.pop(content, None)
        self._prompts[content] = prompt
        if len(self._prompts) > _PROMPTS_KEPT:
            del self._prompts[next(iter(self._prompts))]
        return prompt

    # --- candidates and turns ---------------------------------------------------------------------------------------

    @override
    def save_candidate(self, run: str, turn: int, candidate: Candidate, part: str = "") -> None:
        if run != self._run:
            super().save_candidate(run, turn, candidate, part)
            return
        kept = self._candidates_of(turn, part)
        self._new_candidates[turn, part, candidate.attempt] = candidate.text, candidate_row(run, turn, part, candidate)
        if candidate.reply.usage is not None:  # the call holds it
            candidate = candidate.model_copy(update={"reply": candidate.reply.model_copy(update={"usage": None})})
        kept[candidate.attempt] = candidate
        self._flush_if_at_once()

    @override
    def candidates(self, run: str, turn: int, part: str = "") -> list[Candidate]:
        if run != self._run:
            return super().candidates(run, turn, part)
        return [candidate for _, candidate in sorted(self._candidates_of(turn, part).items())]

    def _candidates_of(self, turn: int, part: str) -> dict[int, Candidate]:
        kept = self._candidates.get(turn, {}).get(part)
        if kept is None:
            stored: list[Candidate] = []
            if turn <= max(self._last_begun[0], self._forgotten[0]):
                self.flush()
                stored = super().candidates(self._run, turn, part)
            kept = {candidate.attempt: candidate for candidate in stored}
            if turn > self._forgotten[0]:
                self._candidates.setdefault(turn, {})[part] = kept
        return kept

    @override
    def save_turn(self, run: str, record: TurnRecord, parts: Mapping[str, TurnRecord] | None = None) -> None:
        with self.file.joined():
            self.flush()
            is_new = run == self._run and record.turn.turn > self._last_begun[0]
            super().save_turn(run, record, parts)
        if is_new:
            self._keep_turn(record.turn)
            if record.scores is None:  # scores are read in the order of their units
                self._records[record.turn.turn] = record
            self._forget_before(record.turn.turn)

    @override
    def turns(self, run: str, first: int = 1, last: int | None = None) -> list[Turn]:
        if run != self._run or last is None:
            return super().turns(run, first, last)
        wanted = range(max(first, 1), last + 1)
        if all(number in self._turns for number in wanted):
            return [self._turns[number] for number in wanted]
        found = super().turns(run, first, last)
        for turn in found[-_TURNS_KEPT:]:
            self._keep_turn(turn)
        return found

    @override
    def turn_record(self, run: str, turn: int) -> TurnRecord:
        kept = self._records.get(turn) if run == self._run else None
        return kept or super().turn_record(run, turn)

    def _keep_turn(self, turn: Turn) -> None:
        self._turns[turn.turn] = turn

    def _forget_before(self, turn: int) -> None:
        for number in [number for number in self._turns if number < turn - _TURNS_KEPT]:
            del self._turns[number]
            self._records.pop(number, None)
        last = max(self._forgotten[0], turn - _ROUNDS_KEPT - 1)
        for number in range(self._forgotten[0] + 1, last + 1):
            self._candidates.pop(number, None)
        self._forgotten = last, self._forgotten[1]

    # --- cognition and calls ----------------------------------------------------------------------------------------

    @override
    def save_step(self, run: str, round: int, agent: str, node: str, record: Record) -> None:
        if run != self._run or node in PAUSE_STEPS:
            self.flush()
            super().save_step(run, round, agent, node, record)
            return
        self._new_steps[round, agent, node] = step_row(run, round, agent, node, record), record
        self._flush_if_at_once()
        self._keep_step(round, agent, node, record)

    def _keep_step(self, round: int, agent: str, node: str, record: Record) -> None:
        if round not in self._steps:
            self._forgotten = self._forgotten[0], max(self._forgotten[1], round - _ROUNDS_KEPT - 1)
            for earlier in [number for number in self._steps if 0 < number <= self._forgotten[1]]:
                del self._steps[earlier]
        self._steps.setdefault(round, {})[agent, node] = record

    @override
    def step(self, run: str, round: int, agent: str, node: str, kind: type[AnyRecord]) -> AnyRecord | None:
        if run != self._run or node in PAUSE_STEPS:
            return super().step(run, round, agent, node, kind)
        kept = self._steps.get(round, {}).get((agent, node))
        if isinstance(kept, kind):
            return kept
        if kept is None and round > max(self._last_begun[1], self._forgotten[1]):
            return None
        self.flush()
        found = super().step(run, round, agent, node, kind)
        if found is not None and round not in range(1, self._forgotten[1] + 1):
            self._keep_step(round, agent, node, found)
        return found

    @override
    def steps(
        self,
        run: str,
        node: str,
        kind: type[AnyRecord],
        first: int = 0,
        last: int | None = None,
        agent: str | None = None,
    ) -> dict[tuple[int, str], AnyRecord]:
        # They never wait (see `save_step`), so nothing has to be stored before.
        if node in PAUSE_STEPS and agent == "" and last is not None and not self._has_step(run, node, first, last):
            return {}
        self.flush()
        return super().steps(run, node, kind, first, last, agent)

    def _has_step(self, run: str, node: str, first: int, last: int) -> bool:
        """Whether a step of the whole group is stored, in a look-up a round: each turn asks, and mostly there is none.

        Steps lie in the order of their rounds and agents, so all of a run would be read for those of one node.
        """
        found = self.file.rows(
            """WITH RECURSIVE rounds (number) AS (
                SELECT CAST(? AS bigint) UNION ALL SELECT number + 1 FROM rounds WHERE number < ?
            )
            SELECT 1 AS found FROM lineage CROSS JOIN rounds CROSS JOIN steps
            WHERE lineage.run = ? AND number <= rounds AND steps.run = ancestor AND round = number
            AND agent = '' AND node = ? LIMIT 1""",
            *(first, last, run, node),
        )
        return bool(found)

    @override
    def save_trace(self, run: str, turn: int, trace: Trace) -> None:
        with self.file.joined():
            self.flush()
            super().save_trace(run, turn, trace)

    @override
    def call(self, run: str, round: int, agent: str, node: str, attempt: int) -> Call | None:
        is_known = run == self._run and round > max(self._last_begun[2], self._uncalled)
        if is_known and (agent, node, attempt) not in self._called.get(round, ()):
            return None
        return super().call(run, round, agent, node, attempt)

    @override
    def save_calls(self, run: str, calls: Sequence[Call]) -> None:
        with self.file.joined():
            self.flush()
            super().save_calls(run, calls)
        if run != self._run:
            return
        for call in calls:
            self._called.setdefault(call.round, set()).add((call.agent, call.node, call.attempt))
        self._uncalled = max(self._uncalled, max(self._called, default=0) - _ROUNDS_KEPT - 1)
        self._called = {round: made for round, made in self._called.items() if round > self._uncalled}

    @property
    def _last_begun(self) -> tuple[int, int, int]:
        """The last turn, and the last rounds with a step and with a call, that were begun before this object was used.

        Nothing is stored of any later one but by this object.
        """
        if self._begun is None:
            (found,) = self.file.rows(
                """SELECT coalesce(max(turns), 0) AS turns, coalesce(max(rounds), 0) AS rounds,
                (SELECT coalesce(max(turn), 0) FROM candidates WHERE run = ?) AS candidates,
                (SELECT coalesce(max(turn), 0) FROM turns WHERE run = ?) AS own,
                (SELECT coalesce(max(round), 0) FROM steps WHERE run = ?) AS steps,
                (SELECT coalesce(max(round), 0) FROM calls WHERE run = ?) AS calls
                FROM lineage WHERE run = ? AND depth > 0""",
                *[self._run] * 5,
            )
            turns = max(found["turns"], found["candidates"], found["own"])
            self._begun = turns, max(found["rounds"], found["steps"]), found["calls"]
        return self._begun
