"""Measure fluency: how likely each utterance is, under a fixed language model, given the dialogue before it.

Diversity can be nonsense; nonsense is unlikely. But so is wit, and a line of every second dialogue is likely: the
figure complements diversity, and is no goal.

1. The model reads a dialogue as lines `Speaker: text`, without any prompt. Its own instructions are not among them, so
   that one model can be held against dialogues of all.
2. The figure of an utterance is the mean over the tokens of its text: neither the speaker's name counts nor the end of
   the line.
3. A dialogue longer than the model's context window is read in parts, each after the latter half of the part before.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, chain

from pydantic import Field

from tertulia.metrics.diversity import Dialogue, mean
from tertulia.state.language_model import LanguageModel, RenderedPrompt
from tertulia.state.questions import TokenLikelihoodModel
from tertulia.state.records import Record, Reply


class FluencyFigures(Record):
    """The fluency of a case's utterances, or its mean over cases."""

    model: str | None = Field(description="the model that read them; None where there are no cases")
    utterances: int = Field(description="number of utterances with a text")
    fluency: float | None = Field(
        description="mean log-probability of the tokens of an utterance given the dialogue before it, in nats per "
        "token, every utterance alike; at most 0"
    )
    lowest: float | None = Field(description="that of the least likely utterance")


async def fluency_of_cases(cases: Mapping[str, Sequence[Dialogue]], model: LanguageModel) -> dict[str, FluencyFigures]:
    """Return the fluency of every case; equal dialogues are read once.

    A local model reads a dialogue once, any other once for each of its utterances.

    Raises:
        ModelError: The model does not show likelihoods.
        ContextWindowError: A single utterance is longer than the model can read.
    """
    known: dict[tuple[tuple[str, str], ...], list[float | None]] = {}
    figures = {}
    for case, dialogues in cases.items():
        keys = [tuple((speaker, text) for speaker, text in dialogue) for dialogue in dialogues]
        for key in keys:
            if key not in known:
                known[key] = await utterance_likelihoods(key, model)
        found = [value for key in keys for value in known[key] if value is not None]
        lowest = min(found, default=None)
        figures[case] = FluencyFigures(model=model.id, utterances=len(found), fluency=mean(found), lowest=lowest)
    return figures


def mean_fluency(figures: Iterable[FluencyFigures]) -> FluencyFigures:
    """Return the mean over the cases that one model measured, with the lowest of all."""
    figures = list(figures)
    return FluencyFigures(
        model=next((found.model for found in figures), None),
        utterances=sum(found.utterances for found in figures),
        fluency=mean(found.fluency for found in figures),
        lowest=min((found.lowest for found in figures if found.lowest is not None), default=None),
    )


async def utterance_likelihoods(dialogue: Dialogue, model: LanguageModel) -> list[float | None]:
    """Return the mean log-probability of each utterance's tokens given the lines before, in nats per token.

    It is `None` for an utterance without a text.
    """
    lines = [_Line(speaker, text, model) for speaker, text in dialogue]
    found: list[float | None] = []
    while len(found) < len(lines):
        start, end = _part(lines, len(found), model.traits.context_window)
        values = await _read(lines[start:end], len(found) - start, model)
        found += values
    return found


class _Line:
    """A line in tokens: the speaker's name, the text, and the end of the line."""

    def __init__(self, speaker: str, text: str, model: LanguageModel) -> None:
        encode = model.tokenizer.encode
        self.before, self.end = encode(f"{speaker}:"), encode("\n")
        self.text = encode(f" {text.strip()}") if text.strip() else []

    @property
    def tokens(self) -> list[int]:
        return [*self.before, *self.text, *self.end]


def _part(lines: Sequence[_Line], first: int, window: int | None) -> tuple[int, int]:
    """Return the range of lines to read together for the figures of those from `first` on."""
    room = None if window is None else window - 1  # the line break that the model reads first
    lengths = [len(line.tokens) for line in lines]
    if room is None or sum(lengths) <= room:
        return 0, len(lines)
    start, taken = first, 0
    while start > 0 and taken + lengths[start - 1] <= room // 2:
        start, taken = start - 1, taken + lengths[start - 1]
    fitting = [taken + length <= room for length in accumulate(lengths[first:])]
    return start, first + max(1, fitting.index(False) if False in fitting else len(fitting))


async def _read(lines: Sequence[_Line], first: int, model: LanguageModel) -> list[float | None]:
    opening = tuple(model.tokenizer.encode("\n"))
    if isinstance(model, TokenLikelihoodModel):
        tokens = [*chain.from_iterable(line.tokens for line in lines)]
        logs = await model.token_log_likelihoods(RenderedPrompt(opening, {}, {}), tokens) if tokens else []
        starts = list(accumulate((len(line.tokens) for line in lines), initial=0))
        spans = [(start + len(line.before), len(line.text)) for start, line in zip(starts, lines, strict=False)]
        return [mean(logs[begin : begin + length]) for begin, length in spans[first:]]
    found: list[float | None] = []
    for at in range(first, len(lines)):
        line = lines[at]
        before = (*opening, *chain.from_iterable(earlier.tokens for earlier in lines[:at]), *line.before)
        reply = Reply(text="", tokens=tuple(line.text), text_tokens=(0, len(line.text)), fields={})
        found.append(await model.log_likelihood(RenderedPrompt(before, {}, {}), reply) if line.text else None)
    return found
