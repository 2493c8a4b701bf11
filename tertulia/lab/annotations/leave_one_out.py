"""The loss of a stored line without units of its prompt, measured on the spot: `tertulia show RUN --turn N --check`.

1. The line is read behind the prompt that it answered, and behind the same without a unit. The loss of a unit is the
   mean log-likelihood of the line's tokens behind the first, less that behind the second, in nats a token.
2. Every unit that informs is left out, the lines said before too, so that `nothing in particular` is checked; units
   with the same words are left out together. Of more units than the budget has calls, those with the highest
   scores of the line. A line without scores is scored first.
3. If the reader shows no attention, and the budget has fewer calls than there are units, random ablations are read
   (each unit kept with probability 1/2), a linear surrogate is fitted to them (`tertulia/metrics/faithfulness.py`), and
   its three highest units are left out.
4. In a meeting the thought of the speaker, or of another agent, is read in the same way, behind the prompt of its own
   call: the words of the situation and of the thought, which are one answer. (A server counts all its tokens.)
5. Every value is stored as soon as it is there, so an interrupted check goes on with the missing ones.

Prompts are read from the last unit that is left out to the first: those that share the longest beginning follow one
another, as a prompt cache keeps them.

Kept as annotations `leave_one_out` of the run: about `` losses by unit, about `values` the values by ablation, a letter
for each unit of the answered prompt that can be named. The model is named with the precision in which it computed.

Source: Cohen-Wang et al. 2024, arXiv 2409.00729 (ContextCite).
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np

from tertulia.lab.annotations.ablations import AblationMask
from tertulia.lab.annotations.checked_line import CheckedLine, lines_to_check, thought_to_check
from tertulia.lab.annotations.precisions import named_with, precision_of
from tertulia.metrics.faithfulness import Ablations, surrogate, top_units
from tertulia.nodes.utterance.score_line import scores_of_words
from tertulia.prompts.render import render
from tertulia.state.annotation import Annotation, Instrument
from tertulia.state.errors import ModelError, UsageError
from tertulia.state.language_model import LanguageModel, SeeingModel
from tertulia.state.line_scores import scored_line_by
from tertulia.state.meeting import Meeting, Start
from tertulia.state.model_failures import model_failures
from tertulia.state.questions import ServedModel
from tertulia.state.records import RunRecord
from tertulia.state.text import counted
from tertulia.storage.parts.annotations import Annotations
from tertulia.storage.store import SqlStore
from tertulia.views.reading.checks import LOSSES, VALUES, checks_of, numbers_of, reader_in
from tertulia.views.reading.rounds import find_agent
from tertulia.views.reading.turns import read_turn

#: Readings of a line's prompt, at most; and the fewest from which anything can be learned by ablations.
CALLS, LEAST_CALLS = 64, 8

#: The units of the surrogate that are left out, each by itself.
_HIGHEST = 3

#: Opens the model of a name.
OpenReader = Callable[[str], LanguageModel]

#: Receives a line of text.
Tell = Callable[[str], object]


@dataclass
class _Known:
    """The stored figures of a line by a reader in one precision: values by ablation, and its tokens (0: not known)."""

    values: dict[AblationMask, float] = field(default_factory=dict)
    tokens: int = 0


async def check_turn(
    store: SqlStore,
    run: RunRecord,
    start: Start,
    turn: int,
    open_reader: OpenReader,
    *,
    reader: str | None = None,
    agent: str | None = None,
    calls: int = CALLS,
    tell: Tell = str,
    show: Tell = str,
) -> None:
    """Measure the loss of a turn's line without units of its prompt, of an exchange that of all its parts.

    In a meeting the speaker's thought is measured beside; of an agent that is asked about, the thought alone.

    Args:
        turn: The turn, from 1.
        open_reader: Opens the model that reads; called for a missing value.
        reader: Its name; `None`: the model that scored the line, else the run's surrogate, else the writer of the line.
        agent: Whose thought is wanted, in a meeting; `None`: the line is, with its speaker's thought.
        calls: Readings of each line, at most.
        tell: Receives a line on the readings, before they begin.
        show: Receives a line for each reading.

    Raises:
        NotFoundError: There is no such turn, or nobody of that name.
        UsageError: It is rehearsed, or nobody spoke, or a person wrote the line; or there are too few calls, or the
            reader is a stand-in.
        ModelError: The reader failed, or does not tell how likely a line is; measured values are kept.
    """
    if calls < LEAST_CALLS:
        raise UsageError(f"{calls} calls are too few to learn from; give --calls {LEAST_CALLS} or more")
    agent = find_agent(agent, start, run.run) if agent and isinstance(start, Meeting) else None
    details = read_turn(store, run, start, turn, reader=reader)
    lines = lines_to_check(store, details, reader) if agent is None else []
    thinker = agent or details.record.turn.speaker
    if isinstance(start, Meeting) and thinker is not None:
        thought = thought_to_check(store, details, start, thinker, reader)
        if thought is None and agent is not None:
            raise UsageError(f"{agent} has no thought of a model in turn {turn} that could be read; name another agent")
        lines += [] if thought is None else [thought]
    check = _Check(store, open_reader, calls, tell, show)
    for line in lines:
        await check.read(line)


# --- the reading ----------------------------------------------------------------------------------------------------


def missing(line: CheckedLine, values: Mapping[AblationMask, float], calls: int) -> list[AblationMask]:
    """Return the ablations behind which a line is to be read next; none once it is checked.

    Args:
        values: The known ones, by ablation.
        calls: How many ablations may be read of it together.
    """
    ablated = line.ablated
    chosen: Sequence[str] | None = line.ranked
    if chosen is None and len(ablated.units) < calls:
        chosen = ablated.units
    if chosen is None:
        drawn = _drawn(line, calls)
        if unread := _unread([ablated.full, *drawn], values):
            return unread
        known = [ablated.full, *drawn]
        kept = np.array([[float(letter) for letter in word] for word in known])
        weights = surrogate(Ablations(kept, np.array([values[word] for word in known])))
        chosen = [ablated.units[place] for place in top_units(weights, _HIGHEST)]
    words = [line.without(unit) for unit in chosen[: calls - 1]]
    return _unread([ablated.full, *words] if words else [], values)


def _drawn(line: CheckedLine, calls: int) -> list[AblationMask]:
    """Return the random ablations of a line that are read beside the whole prompt and the highest units."""
    return line.ablated.random_ablations(calls - 1 - _HIGHEST)


def _unread(words: Sequence[AblationMask], values: Mapping[AblationMask, float]) -> list[AblationMask]:
    """Return the ablations that are not known, those beside one another whose prompts begin alike for longest."""
    return sorted({*words} - values.keys(), reverse=True)


def readings_left(line: CheckedLine, values: Mapping[AblationMask, float], calls: int) -> int:
    """Return how many readings are left until a line is checked, at most."""
    left = len(missing(line, values, calls))
    fits_surrogate = line.ranked is None and len(line.ablated.units) >= calls
    is_drawing = fits_surrogate and bool(_unread([line.ablated.full, *_drawn(line, calls)], values))
    return left + (_HIGHEST if is_drawing else 0)


async def value_behind(
    store: SqlStore, word: AblationMask, line: CheckedLine, model: LanguageModel, tokens: int = 0
) -> tuple[float, int]:
    """Return the mean log-likelihood of a line behind an ablation of its prompt, in nats a token, and its tokens.

    Args:
        tokens: How many these are to a model on a server; 0: the server is to count them.

    Raises:
        ModelError: The model failed, or a server does not tell.
    """
    prompt, reply = line.ablated.prompt(store, word), line.reply_for(model)
    rendered = render(prompt, model.tokenizer, line.reply_prefix)
    with model_failures(model):
        if model.traits.text_only:
            logs = await cast(ServedModel, model).text_log_likelihoods(rendered, reply, tokens or None)
            return sum(logs) / len(logs), len(logs)
        first, past_last = reply.text_tokens
        words = sum(last - start for start, last in line.words_of(reply, model))
        return await model.log_likelihood(rendered, reply) * (past_last - first) / words, words


class _Check:
    """Reads lines, and keeps their figures; a model is opened once."""

    def __init__(self, store: SqlStore, open_reader: OpenReader, calls: int, tell: Tell, show: Tell) -> None:
        self._store, self._open_reader, self._calls = store, open_reader, calls
        self._tell, self._show = tell, show
        self._opened: dict[str, LanguageModel] = {}

    async def read(self, line: CheckedLine) -> None:
        """Read a line behind all ablations that are missing."""
        kept = self._kept(line)
        if any(not missing(line, known.values, self._calls) for known in (_Known(), *kept.values())):
            return
        model = self._model(line.reader)
        line = await self._scored(line, model)
        precision = precision_of(model)
        known = kept.get(precision, _Known())
        done, total = 0, readings_left(line, known.values, self._calls)
        if total:
            await self._tell_cost(line, model, known, total)
        while words := missing(line, known.values, self._calls):
            for word in words:
                done += 1
                self._show(f"{line.place}: reading {done} of {total} by {line.reader}")
                await self._read_behind(word, line, model, known)
                self._save(line, precision, known)

    def _model(self, name: str) -> LanguageModel:
        if name not in self._opened:
            model = self._open_reader(name)
            if model.traits.rehearsed:
                raise UsageError(
                    f"{name} is a stand-in, and has no likelihoods; name a model, such as --reader smollm2"
                )
            if model.traits.sees_pictures:
                cast(SeeingModel, model).use_pictures(self._store.picture)
            self._opened[name] = model
        return self._opened[name]

    async def _tell_cost(self, line: CheckedLine, model: LanguageModel, known: _Known, left: int) -> None:
        """Announce the readings, and see that the model tells how likely a line is."""
        of = line.place
        if not model.traits.text_only:
            self._tell(f"{of}: {counted(left, 'reading')} of its prompt by {line.reader}, whole and without units")
            return
        counting = "" if known.tokens else ", and one that counts the line's tokens"
        where = line.reader.partition("#")[0]
        self._tell(f"{of}: {counted(left, 'call')} of {where} will be made{counting}; --calls N bounds them")
        if not isinstance(model, ServedModel) or not await asyncio.to_thread(model.tells_likelihoods):
            raise ModelError(
                f"{line.reader} does not tell how likely a line is; name a model of this machine that reads it: "
                "--reader smollm2"
            )

    async def _read_behind(self, word: AblationMask, line: CheckedLine, model: LanguageModel, known: _Known) -> None:
        """Read a line behind an ablation of its prompt, and note its value."""
        try:
            value, known.tokens = await value_behind(self._store, word, line, model, known.tokens)
        except ModelError as error:
            if not known.values:
                raise
            what = counted(len(known.values), "reading")
            raise ModelError(f"{error}; {what} of this line so far are kept: the same command goes on") from error
        known.values[word] = value

    async def _scored(self, line: CheckedLine, model: LanguageModel) -> CheckedLine:
        """Return a line with scores: its own, or else those by the reader's attention, which are kept."""
        record = line.details.record
        if record.line_scores is not None or model.traits.text_only:
            return line
        self._tell(f"{line.place}: {line.reader} scores the line by its attention")
        reply, whole = line.reply_for(model), line.ablated.prompt(self._store, line.ablated.full)
        with model_failures(model):
            words = line.words_of(reply, model)
            scores = await scores_of_words(model, whole, line.reply_prefix, reply.tokens, words)
        if scores is None:
            return line
        scored_by = scored_line_by(model, None if line.is_writers else line.details.writer)
        tokens = sum(last - first for first, last in words)
        answers = {unit: repr(score) for unit, score in scores.items()}
        self._keep(line, [_annotation(line, "line_scores", precision_of(model), scored_by, answers, tokens)])
        record = record.model_copy(update={"line_scores": dict(scores), "line_scored_by": scored_by})
        return replace(line, details=replace(line.details, record=record))

    def _kept(self, line: CheckedLine) -> dict[str, _Known]:
        """Return the stored figures of a line by its reader, by precision."""
        found: dict[str, _Known] = {}
        for each in checks_of(self._store, line.details.run, line.details.record, line.details.number):
            if each.instrument != "leave_one_out" or each.agent != VALUES or reader_in(each) != line.reader:
                continue
            values = {word: value for word, value in numbers_of(each.answers).items() if self._is_word(word, line)}
            found[each.model.rpartition(" in ")[2]] = _Known(values, each.reply_tokens)
        return found

    def _is_word(self, word: str, line: CheckedLine) -> bool:
        return len(word) == len(line.ablated.units) and set(word) <= {"0", "1"}

    def _save(self, line: CheckedLine, precision: str, known: _Known) -> None:
        by_agent = {VALUES: known.values, LOSSES: line.losses(known.values)}
        self._keep(
            line,
            [
                _annotation(
                    line, "leave_one_out", precision, agent, {at: repr(value) for at, value in of.items()}, known.tokens
                )
                for agent, of in by_agent.items()
                if of
            ],
        )

    def _keep(self, line: CheckedLine, annotations: list[Annotation]) -> None:
        Annotations(self._store.file).save(line.details.run.run, annotations)


def _annotation(
    line: CheckedLine,
    instrument: Instrument,
    precision: str,
    agent: str,
    answers: Mapping[str, str],
    tokens: int = 0,
) -> Annotation:
    turn = line.ablated.line.turn
    return Annotation(
        instrument=instrument,
        model=named_with(line.reader, precision),
        agent=agent,
        first=turn,
        last=turn,
        part=line.details.number,
        prompt=line.ablated.line.full,
        answers=dict(answers),
        reply_tokens=tokens,
    )
