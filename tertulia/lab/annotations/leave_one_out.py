"""What a stored line loses without units of its prompt, measured on the spot: `tertulia show RUN --turn N --check`.

1. The line is read behind the prompt that it answered, and behind the same without a unit. The loss of a unit is the
   mean log-likelihood of the line's tokens behind the first, less that behind the second, in nats a token.
2. Measured are the units that the sentence about the turn names, by the scores of the line; where it names none, the
   one with the highest score, so that `nothing in particular` is checked too. A line without scores is scored first.
3. Where that is not possible, as the reader shows no attention, every unit is left out if the budget has so many calls.
   If not, random ablations are read (each unit kept with probability 1/2), a linear surrogate is fitted to them
   (`tertulia/metrics/faithfulness.py`), and its three highest units are left out.
4. Every value is stored as soon as it is there, so an interrupted check goes on with what is missing.

Prompts are read from the last unit that is left out to the first: those that share the longest beginning follow one
another, which is what a prompt cache keeps.

Kept as annotations `leave_one_out` of the run: about `` losses by unit, about `values` the values by ablation, a letter
for each removable unit of the prompt that was answered. The model is named with the precision in which it computed.

Source: Cohen-Wang et al. 2024, arXiv 2409.00729 (ContextCite).
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np

from tertulia.lab.annotations.ablations import AblatedLine, Kept
from tertulia.lab.annotations.next_line import SpokenLine
from tertulia.lab.annotations.precisions import named_with, precision_of
from tertulia.metrics.faithfulness import Ablations, surrogate, top_units
from tertulia.models.served.chat_names import is_chat_name
from tertulia.nodes.utterance.score_line import scores_of_line
from tertulia.prompts.assemble import reply_prefix_of
from tertulia.prompts.remove import remove_units
from tertulia.prompts.render import render, retokenized
from tertulia.state.annotation import Annotation, Instrument
from tertulia.state.errors import ModelError, UsageError
from tertulia.state.language_model import LanguageModel, SeeingModel
from tertulia.state.line_scores import reader_of, scored_line_by
from tertulia.state.meeting import Start
from tertulia.state.model_failures import model_failures
from tertulia.state.questions import ServedModel
from tertulia.state.records import Candidate, Reply, RunRecord
from tertulia.state.text import counted
from tertulia.storage.parts.annotations import Annotations
from tertulia.storage.store import SqlStore
from tertulia.views.reading.checks import LOSSES, PART_NUMBERS, VALUES, checks_of, numbers_of, reader_in
from tertulia.views.reading.leaning import reasons
from tertulia.views.reading.turns import TurnDetails, read_turn
from tertulia.views.reading.why import parameters_of_speaker

#: Readings of a line's prompt, at most; and the fewest from which anything can be learned by ablations.
CALLS, LEAST_CALLS = 64, 8

#: The units of the surrogate that are left out, each by itself.
_HIGHEST = 3

#: Opens the model of a name.
OpenReader = Callable[[str], LanguageModel]

#: Receives a line of text.
Tell = Callable[[str], object]


@dataclass(frozen=True)
class CheckedLine:
    """A line that is checked: a turn's own, or a part of it.

    Attributes:
        reader: The name of the model that reads it.
        ablated: The line with the removable units of the prompt that it answered.
    """

    details: TurnDetails
    part: str
    reader: str
    ablated: AblatedLine

    @property
    def place(self) -> str:
        """Its turn, with the part of it."""
        return f"turn {self.details.record.turn.turn}" + (f" ({self.part})" if self.part else "")

    @property
    def is_writers(self) -> bool:
        """Whether its writer reads it."""
        return self.reader == self.details.writer

    @property
    def named(self) -> tuple[str, ...] | None:
        """The units that are named by its scores, or the one with the highest; `None` where it has no scores."""
        found = reasons(replace(self.details, measured={}))
        if found is None:
            return None
        scores = self.details.record.line_scores or {}
        highest = max((unit for unit in self.ablated.units if unit in scores), key=scores.__getitem__, default=None)
        return tuple(reason.unit.id for reason in found) or (() if highest is None else (highest,))

    def reply_for(self, model: LanguageModel) -> Reply:
        """Return the reply in the tokens of the model that reads it; a server has its own."""
        reply = self.ablated.line.reply
        first, past_last = reply.text_tokens
        if model.traits.text_only or (self.is_writers and first < past_last):
            return reply
        assert self.details.prompt is not None
        return retokenized(model.tokenizer, reply, reply_prefix_of(self.details.prompt))

    def losses(self, values: Mapping[Kept, float]) -> dict[str, float]:
        """Return by unit what the line loses without it, in nats a token, as far as that is known."""
        full = values.get(self.ablated.full)
        found = ((unit, values.get(self.ablated.without(place))) for place, unit in enumerate(self.ablated.units))
        return {} if full is None else {unit: full - value for unit, value in found if value is not None}


@dataclass
class _Known:
    """What a store has of a line by a reader in one precision: values by ablation, and its tokens (0: not known)."""

    values: dict[Kept, float] = field(default_factory=dict)
    tokens: int = 0


async def check_turn(
    store: SqlStore,
    run: RunRecord,
    start: Start,
    turn: int,
    open_reader: OpenReader,
    *,
    reader: str | None = None,
    calls: int = CALLS,
    tell: Tell = str,
    show: Tell = str,
) -> None:
    """Measure what the line of a turn loses without units of its prompt, of an exchange that of all its parts.

    Args:
        turn: The turn, from 1.
        open_reader: Opens the model that reads; called where a value is missing.
        reader: Its name; `None`: the model that scored the line, else the run's surrogate, else the writer of the line.
        calls: Readings of each line, at most.
        tell: Receives what will be read, before it is.
        show: Receives a line for each reading.

    Raises:
        NotFoundError: There is no such turn.
        UsageError: It is rehearsed, or nobody spoke, or a person wrote the line; or there are too few calls, or the
            reader is a stand-in.
        ModelError: The reader failed, or does not tell how likely a line is; what was measured is kept.
    """
    if calls < LEAST_CALLS:
        raise UsageError(f"{calls} calls are too few to learn from; give --calls {LEAST_CALLS} or more")
    lines = lines_to_check(store, read_turn(store, run, start, turn, reader=reader), reader)
    check = _Check(store, open_reader, calls, tell, show)
    for line in lines:
        await check.read(line)


def lines_to_check(store: SqlStore, details: TurnDetails, reader: str | None = None) -> list[CheckedLine]:
    """Return the lines of a turn that answered a prompt with removable units.

    Raises:
        UsageError: The turn has no line that a model wrote.
    """
    number = details.record.turn.turn
    if details.run.rehearsed:
        raise UsageError(
            f"run {details.run.run} is rehearsed: a stand-in has no likelihoods that could be measured; run it with a "
            "model"
        )
    if details.record.turn.speaker is None:
        raise UsageError(f"nobody spoke in turn {number}; check a turn in which somebody did")
    written = {
        part: found
        for part, found in {"": details, **details.parts}.items()
        if found.prompt is not None and _candidate_of(found) is not None
    }
    if not written:
        raise UsageError(
            f"turn {number} was written by hand: there is no prompt whose units could be left out; check a turn that a "
            "model wrote"
        )
    lines = [_checked_line(store, found, part, reader or _reader_of(found)) for part, found in written.items()]
    return [line for line in lines if line.ablated.units]


def _candidate_of(details: TurnDetails) -> Candidate | None:
    """Return the candidate that was said; `None` where no model wrote it."""
    chosen = (each for each in details.candidates if each.attempt == details.record.chosen)
    return next((each for each in chosen if each.origin != "by_hand"), None)


def _reader_of(details: TurnDetails) -> str:
    """Return the model that reads a line: the one that scored it, else the surrogate of its writer, or the writer."""
    if (recorded := reader_of(details.record.line_scored_by)) is not None:
        return recorded
    surrogate = parameters_of_speaker(details).surrogate
    return details.writer if surrogate is None or not is_chat_name(details.writer) else surrogate


def _checked_line(store: SqlStore, details: TurnDetails, part: str, reader: str) -> CheckedLine:
    record, candidate = details.record, _candidate_of(details)
    assert candidate is not None
    assert record.prompt is not None
    speaker = record.turn.speaker or ""
    spoken = SpokenLine(
        *(details.run.run, record.turn.turn, speaker, record.prompt, record.removed),
        parameters=parameters_of_speaker(details),
        reply=candidate.reply,
    )
    answered = remove_units(store.prompt(record.prompt), record.removed)
    units = tuple(unit.id for unit in answered.units if unit.removable)
    return CheckedLine(details, part, reader, AblatedLine(details.run, spoken, "", units))


# --- what is read ---------------------------------------------------------------------------------------------------


def missing(line: CheckedLine, values: Mapping[Kept, float], calls: int) -> list[Kept]:
    """Return the ablations behind which a line is to be read next; none where it is checked.

    Args:
        values: What is known, by ablation.
        calls: How many ablations may be read of it together.
    """
    ablated = line.ablated
    chosen: Sequence[str] | None = line.named
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
    places = [ablated.units.index(unit) for unit in chosen[: calls - 1]]
    return _unread([ablated.full, *map(ablated.without, places)] if places else [], values)


def _drawn(line: CheckedLine, calls: int) -> list[Kept]:
    """Return the random ablations of a line that are read beside the whole prompt and the highest units."""
    return line.ablated.random_ablations(calls - 1 - _HIGHEST)


def _unread(words: Sequence[Kept], values: Mapping[Kept, float]) -> list[Kept]:
    """Return the ablations that are not known, those beside one another whose prompts begin alike for longest."""
    return sorted({*words} - values.keys(), reverse=True)


def readings_left(line: CheckedLine, values: Mapping[Kept, float], calls: int) -> int:
    """Return how many readings are left until a line is checked, at most."""
    left = len(missing(line, values, calls))
    fits_surrogate = line.named is None and len(line.ablated.units) >= calls
    is_drawing = fits_surrogate and bool(_unread([line.ablated.full, *_drawn(line, calls)], values))
    return left + (_HIGHEST if is_drawing else 0)


async def value_behind(
    store: SqlStore, word: Kept, line: CheckedLine, model: LanguageModel, tokens: int = 0
) -> tuple[float, int]:
    """Return the mean log-likelihood of a line behind an ablation of its prompt, in nats a token, and its tokens.

    Args:
        tokens: How many these are to a model on a server; 0: the server is to count them.

    Raises:
        ModelError: The model failed, or a server does not tell.
    """
    prompt, reply = line.ablated.prompt(store, word), line.reply_for(model)
    rendered = render(prompt, model.tokenizer, reply_prefix_of(prompt))
    with model_failures(model):
        if model.traits.text_only:
            logs = await cast(ServedModel, model).text_log_likelihoods(rendered, reply, tokens or None)
            return sum(logs) / len(logs), len(logs)
        first, past_last = reply.text_tokens
        return await model.log_likelihood(rendered, reply), past_last - first


class _Check:
    """Reads lines, and keeps what it reads; a model is opened once."""

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
        """Say what will be read, and see that the model tells how likely a line is."""
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

    async def _read_behind(self, word: Kept, line: CheckedLine, model: LanguageModel, known: _Known) -> None:
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
            scores = await scores_of_line(model, whole, reply, is_writer=True)  # the tokens are the reader's
        if scores is None:
            return line
        scored_by = scored_line_by(model, None if line.is_writers else line.details.writer)
        answers = {unit: repr(score) for unit, score in scores.items()}
        self._keep(line, [_annotation(line, "line_scores", precision_of(model), scored_by, answers)])
        record = record.model_copy(update={"line_scores": dict(scores), "line_scored_by": scored_by})
        return replace(line, details=replace(line.details, record=record))

    def _kept(self, line: CheckedLine) -> dict[str, _Known]:
        """Return what is kept of a line by its reader, by precision."""
        found: dict[str, _Known] = {}
        for each in checks_of(self._store, line.details.run, line.details.record, line.part):
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
        part=PART_NUMBERS[line.part],
        prompt=line.ablated.line.full,
        answers=dict(answers),
        prompt_tokens=0,
        reply_tokens=tokens,
        seconds=0.0,
    )
