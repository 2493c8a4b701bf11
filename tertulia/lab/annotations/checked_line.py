"""The lines, and thoughts, of a turn that can be checked: each with its reader, and the units that can be named."""

from collections.abc import Mapping
from dataclasses import dataclass

from tertulia.lab.annotations.ablations import AblatedLine, AblationMask
from tertulia.lab.annotations.next_line import SpokenLine
from tertulia.models.served.chat_names import is_chat_name
from tertulia.prompts.assemble import reply_prefix_of
from tertulia.prompts.remove import remove_units
from tertulia.prompts.render import retokenized, tokens_of_texts
from tertulia.prompts.units import copies_of, informing_units
from tertulia.state.errors import UsageError
from tertulia.state.language_model import LanguageModel
from tertulia.state.line_scores import reader_of
from tertulia.state.meeting import Meeting
from tertulia.state.records import Candidate, Reply
from tertulia.storage.store import SqlStore
from tertulia.views.reading.turns import LineDetails, ThoughtDetails, TurnDetails, parameters_of_speaker, read_thought


@dataclass(frozen=True)
class CheckedLine:
    """A line that is checked: a turn's own, a part of it, or a thought.

    Attributes:
        part: Its name, empty for the turn's own line.
        reader: The name of the model that reads it.
        ablated: The line with the informing units of the prompt that it answered, the lines before it among them.
        copies: By unit, the places among these of all that have its words, its own too: as long as one of them is
            there, a line loses nothing without another.
    """

    details: LineDetails
    part: str
    reader: str
    ablated: AblatedLine
    copies: Mapping[str, tuple[int, ...]]

    @property
    def place(self) -> str:
        """Its turn, with the part of it."""
        return f"turn {self.details.record.turn.turn}" + (f" ({self.part})" if self.part else "")

    @property
    def reply_prefix(self) -> str:
        """The beginning of the reply that ended the prompt; a thought has none."""
        assert self.details.prompt is not None
        return "" if isinstance(self.details, ThoughtDetails) else reply_prefix_of(self.details.prompt)

    @property
    def is_writers(self) -> bool:
        """Whether its writer reads it."""
        return self.reader == self.details.writer

    @property
    def ranked(self) -> tuple[str, ...] | None:
        """The units by descending score, a single one of those with the same words; `None` if it has no scores."""
        scores = self.details.record.line_scores
        if scores is None:
            return None
        ranked = sorted(self.ablated.units, key=lambda unit: -scores.get(unit, 0.0))
        first = {self.copies[unit]: unit for unit in reversed(ranked)}
        return tuple(unit for unit in ranked if first[self.copies[unit]] == unit)

    def without(self, unit: str) -> AblationMask:
        """Return the ablation that removes a unit, with all that have its words."""
        return self.ablated.without(*self.copies[unit])

    def reply_for(self, model: LanguageModel) -> Reply:
        """Return the reply in the tokens of the model that reads it; a server has its own."""
        reply = self.ablated.line.reply
        first, past_last = reply.text_tokens
        if model.traits.text_only or (self.is_writers and first < past_last):
            return reply
        return retokenized(model.tokenizer, reply, self.reply_prefix)

    def words_of(self, reply: Reply, model: LanguageModel) -> list[tuple[int, int]]:
        """Return which tokens of the reply are the words that are read."""
        texts = self.details.texts if isinstance(self.details, ThoughtDetails) else ()
        return tokens_of_texts(model.tokenizer, reply.tokens, texts) if texts else [reply.text_tokens]

    def losses(self, values: Mapping[AblationMask, float]) -> dict[str, float]:
        """Return by unit the line's loss without it, in nats a token, as far as that is known."""
        full = values.get(self.ablated.full)
        found = ((unit, values.get(self.without(unit))) for unit in self.ablated.units)
        return {} if full is None else {unit: full - value for unit, value in found if value is not None}


def lines_to_check(store: SqlStore, details: TurnDetails, reader: str | None = None) -> list[CheckedLine]:
    """Return the lines of a turn that answered a prompt with units that can be named.

    Raises:
        UsageError: The turn has no line that a model wrote.
    """
    number = details.record.turn.turn
    _refuse_rehearsed(details)
    if details.record.turn.speaker is None:
        other = "" if details.round is None else ", or name whose thought is meant with --agent NAME"
        raise UsageError(f"nobody spoke in turn {number}; check a turn in which somebody did{other}")
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


def thought_to_check(
    store: SqlStore, details: TurnDetails, meeting: Meeting, agent: str, reader: str | None = None
) -> CheckedLine | None:
    """Return the thought of an agent in the round of a turn; `None` if no model's call has it.

    Raises:
        UsageError: The run is rehearsed.
    """
    _refuse_rehearsed(details)
    assert details.round is not None
    found = read_thought(store, details, details.round, meeting, agent, reader)
    if found is None or not found.nameable:
        return None
    return _checked_line(store, found, f"the thought of {agent}", reader or _reader_of(found))


def _refuse_rehearsed(details: LineDetails) -> None:
    if details.run.rehearsed:
        raise UsageError(
            f"run {details.run.run} is rehearsed: a stand-in has no likelihoods that could be measured; run it with a "
            "model"
        )


def _candidate_of(details: LineDetails) -> Candidate | None:
    """Return the candidate that was said; `None` if no model wrote it."""
    chosen = (each for each in details.candidates if each.attempt == details.record.chosen)
    return next((each for each in chosen if each.origin != "by_hand"), None)


def _reader_of(details: LineDetails) -> str:
    """Return the model that reads a line: the one that scored it, else the surrogate of its writer, or the writer."""
    if (recorded := reader_of(details.record.line_scored_by)) is not None:
        return recorded
    surrogate = parameters_of_speaker(details).surrogate
    return details.writer if surrogate is None or not is_chat_name(details.writer) else surrogate


def _checked_line(store: SqlStore, details: LineDetails, part: str, reader: str) -> CheckedLine:
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
    units = informing_units(answered)
    places = {unit.id: place for place, unit in enumerate(units)}
    copies = {unit: tuple(places[copy] for copy in alike) for unit, alike in copies_of(units).items()}
    return CheckedLine(details, part, reader, AblatedLine(details.run, spoken, "", tuple(copies)), copies)
