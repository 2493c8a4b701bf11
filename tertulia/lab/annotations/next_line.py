"""A model's expectation of spoken lines: the entropy of the next token, and KL(full ‖ pruned).

1. A line is the text of the reply that was said, in the model's own tokens, and it is read after the prompt that it
   answered: the stored one without its removed units, rendered as it was for the utterance. A line written otherwise
   (several candidates in one reply, a revision) is read as if it had been the answer to that prompt.
2. The entropy of a line is the mean over its tokens, of the distribution over the whole vocabulary at temperature 1.
3. The divergence of a pruned prompt from a full one is the mean of KL(full ‖ pruned) over the tokens of a line that was
   spoken after the full one. It is of one moment: both prompts have the same past.
4. Figures are kept in the store as the answers of a model are, with the precision in which it computed. Those that are
   there, all in one precision, are taken; the model is opened for a missing one.

Not known: lines that another model than the run's spoke, or that a model without shown distributions speaks; and those
of album chats.
"""

import hashlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from statistics import fmean

from tertulia.lab.annotations.precisions import kept_figures, named_with, precision_of
from tertulia.prompts.remove import remove_units
from tertulia.state.annotation import Annotation
from tertulia.state.errors import ModelError
from tertulia.state.language_model import LanguageModel, RenderedPrompt
from tertulia.state.parameters import Parameters
from tertulia.state.questions import NextTokenModel, TokenFigures
from tertulia.state.records import Reply, RunRecord
from tertulia.state.store import Store
from tertulia.storage.parts.annotations import Annotations
from tertulia.storage.store import SqlStore

#: The key of a figure in its annotation.
_ANSWER = "nats per token"

#: The numbers of the parts under which annotations have the figures.
_ENTROPY, _DIVERGENCE = 0, 1

#: The key of a figure: its part, the run and turn of its prompt, and the run of the line if that is another.
Key = tuple[int, str, int, str]


@dataclass(frozen=True)
class SpokenLine:
    """A line as it was spoken.

    Attributes:
        full: Content hash of the full prompt.
        removed: Ids of the units that were removed from it.
        parameters: Those of the speaker.
        reply: The reply that was said.
    """

    run: str
    turn: int
    speaker: str
    full: str
    removed: tuple[str, ...]
    parameters: Parameters
    reply: Reply

    def rendered(self, store: Store, model: LanguageModel) -> RenderedPrompt:
        """Return the prompt that was answered, as the model was fed it."""
        from tertulia.nodes.utterance.requests import utterance_request  # only reading with a model needs the graphs

        prompt = remove_units(store.prompt(self.full), self.removed)
        return utterance_request(prompt, (), model.tokenizer, self.parameters).prompt


@dataclass(frozen=True)
class LineReading:
    """A question to a model: the entropy of a line, or how far another line's prompt diverges from its own.

    Attributes:
        pruned: The line of the compared run, whose prompt is the pruned one; `None`: entropy is asked for.
    """

    line: SpokenLine
    pruned: SpokenLine | None = None

    @property
    def key(self) -> Key:
        """The key of its figure."""
        if self.pruned is None:
            return _ENTROPY, self.line.run, self.line.turn, ""
        return _DIVERGENCE, self.pruned.run, self.pruned.turn, self.line.run

    @property
    def tokens(self) -> tuple[int, ...]:
        """The tokens that are read, up to the last of the text."""
        return self.line.reply.tokens[: self.line.reply.text_tokens[1]]

    def prompts(self, store: Store, model: LanguageModel) -> list[RenderedPrompt]:
        """Return the prompt that the line follows, and the other one, if any."""
        return [line.rendered(store, model) for line in (self.line, self.pruned) if line is not None]

    def value(self, figures: TokenFigures) -> float:
        """Return its figure, from those of the tokens that are read: the mean over the tokens of the text."""
        first, past_last = self.line.reply.text_tokens
        of_tokens = figures.entropies if self.pruned is None else figures.divergences
        return fmean(of_tokens[first:past_last])


def spoken_lines(store: Store, run: RunRecord, first: int = 1) -> list[SpokenLine | None]:
    """Return the lines of a run from a turn on, in their order; `None` for one that the run's model did not speak.

    An album chat has none.
    """
    if run.kind == "album_chat":
        return []
    turns = [turn for turn in store.turns(run.run, first) if turn.speaker is not None]
    return [_spoken_line(store, run, turn.turn, turn.speaker or "") for turn in turns]


def _spoken_line(store: Store, run: RunRecord, turn: int, speaker: str) -> SpokenLine | None:
    record, own = store.turn_record(run.run, turn), run.participant_models.get(speaker)
    candidates = store.candidates(run.run, turn)
    reply = next((candidate.reply for candidate in candidates if candidate.attempt == record.chosen), None)
    if record.prompt is None or reply is None or (own is not None and own.model != run.model):
        return None
    first, past_last = reply.text_tokens
    if first >= past_last:
        return None
    parameters = Parameters.model_validate(own.parameters if own else run.parameters)
    return SpokenLine(run.run, turn, speaker, record.prompt, record.removed, parameters, reply)


async def next_line_figures(
    readings: Iterable[LineReading],
    store: SqlStore,
    name: str,
    open_model: Callable[[], LanguageModel],
    show: Callable[[str], None] = lambda _: None,
) -> Mapping[Key, float]:
    """Return the figure of each reading by a model, by its key, in nats per token; the store keeps them.

    Equal prompts are read once, with all lines that follow them.

    Args:
        name: The model's name in the store.
        open_model: Opens it; called for a missing figure.
        show: Receives a line for each prompt.

    Raises:
        ContextWindowError: A prompt and its lines do not fit the model.
        ModelError: The model failed, or does not show its next-token distribution; earlier figures are kept.
    """
    by_key = {reading.key: reading for reading in readings}
    by_precision = _kept(store, name, by_key)
    known = next((found for found in by_precision.values() if found.keys() == by_key.keys()), None)
    if by_key and known is None:
        model = open_model()
        if not isinstance(model, NextTokenModel):
            raise ModelError(
                f"{model.id} does not show its next-token distribution: only models with weights on this machine do"
            )
        precision = precision_of(model)
        known = by_precision.get(precision, {})
        missing = [reading for key, reading in by_key.items() if key not in known]
        known |= await _measured(missing, model, store, named_with(name, precision), show)
    return known or {}


def _kept(store: SqlStore, name: str, readings: Mapping[Key, LineReading]) -> dict[str, dict[Key, float]]:
    """Return the figures that a store has of some readings, by the precision in which the model computed."""
    found: dict[str, dict[Key, float]] = {}
    runs = dict.fromkeys(run for _, run, _, _ in readings)
    for precision, run, annotation in kept_figures(store, "next_line", name, runs):
        key = (annotation.part, run, annotation.first, annotation.agent)
        value = _number(annotation.answers.get(_ANSWER))
        if key in readings and readings[key].line.full == annotation.prompt and value is not None:
            found.setdefault(precision, {})[key] = value
    return found


def _number(given: object) -> float | None:
    """Return a figure as it was kept; `None` if it is none."""
    try:
        value = float(str(given))
    except ValueError:
        return None
    return value if isfinite(value) else None


async def _measured(
    readings: Sequence[LineReading], model: NextTokenModel, store: SqlStore, name: str, show: Callable[[str], None]
) -> dict[Key, float]:
    """Return the figures of readings, those of a prompt stored as soon as they are there."""
    groups: dict[tuple[bytes, ...], list[LineReading]] = {}
    for reading in readings:
        groups.setdefault(tuple(map(_digest, reading.prompts(store, model))), []).append(reading)
    measured: dict[Key, float] = {}
    for number, together in enumerate(groups.values(), 1):
        show(f"next lines: prompt {number} of {len(groups)}")
        started = time.perf_counter()
        prompts = together[0].prompts(store, model)
        lines = [*dict.fromkeys(reading.tokens for reading in together)]
        figures = dict(zip(lines, await model.token_figures(prompts[0], lines, *prompts[1:]), strict=True))
        found = [(reading, reading.value(figures[reading.tokens])) for reading in together]
        read = sum(len(prompt.input_ids) for prompt in prompts)
        _keep(store, found, name, read, (time.perf_counter() - started) / len(together))
        measured |= {reading.key: value for reading, value in found}
    return measured


def _digest(prompt: RenderedPrompt) -> bytes:
    """Return a digest that tells a prompt from others, in less memory than its tokens."""
    return hashlib.blake2b(repr((prompt.input_ids, prompt.pictures)).encode(), digest_size=16).digest()


def _keep(
    store: SqlStore, found: Iterable[tuple[LineReading, float]], name: str, prompt_tokens: int, seconds: float
) -> None:
    by_run: dict[str, list[Annotation]] = {}
    for reading, value in found:
        part, run, turn, line_run = reading.key
        annotation = Annotation(
            instrument="next_line",
            model=name,
            agent=line_run,
            first=turn,
            last=turn,
            part=part,
            prompt=reading.line.full,
            answers={_ANSWER: repr(value)},
            prompt_tokens=prompt_tokens,
            reply_tokens=len(reading.tokens),
            seconds=seconds,
        )
        by_run.setdefault(run, []).append(annotation)
    for run, annotations in by_run.items():
        Annotations(store.file).save(run, annotations)
