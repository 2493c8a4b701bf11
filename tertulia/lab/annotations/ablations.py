"""How a stored line depends on its prompt, by ablations, and the scorers' values of its units; kept in the store.

1. A line is read after the prompt that it answered: the stored one without its removed units (`next_line`). Its units
   are the removable ones that this prompt has.
2. An ablation is a word of 0 and 1, a letter for each unit: whether it is kept. Its value is the mean log-probability
   of the line's tokens after the kept units, rendered as for the utterance, in nats per token.
3. Ablations are read in batches of `_BATCH`, always the same ones, so that an interrupted run goes on with the same
   digits. A batch is stored as soon as it is there.
4. Scorers score the prompt that was answered, as when it would be pruned. `attention_of_line`, `beyond_neutral` and
   `sentence` read the spoken line instead of drawn responses; so is the attention by layer and head that AT2 weighs.

Kept as annotations `faithfulness` of the run: part 0 values by ablation, part 1 attention by unit, part 2 scores by
unit, whose agent is the scorer.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from tertulia.lab.annotations.next_line import SpokenLine, spoken_lines
from tertulia.lab.annotations.precisions import kept_figures, named_with, precision_of
from tertulia.lab.stability import redrawn
from tertulia.nodes.scorers.attention import options_of_reading
from tertulia.nodes.scorers.embedding_similarity import LATEST_LINES, similarity_scores
from tertulia.nodes.utterance.requests import utterance_request
from tertulia.nodes.utterance.score_line import scores_of_line
from tertulia.prompts.remove import remove_units
from tertulia.state.annotation import Annotation, Instrument
from tertulia.state.errors import ModelError
from tertulia.state.language_model import Embedder, LanguageModel, RenderedPrompt
from tertulia.state.questions import HeadAttentionModel, Likelihood
from tertulia.state.randomness import keyed_generator
from tertulia.state.records import Prompt, RunRecord
from tertulia.storage.parts.annotations import Annotations
from tertulia.storage.store import SqlStore

#: The fewest units of a line that is looked at.
LEAST_UNITS = 3

#: Scorers whose scores are measured here, in the order in which they are shown; others follow from the values.
MEASURED_SCORERS = (
    *("attention", "attention_of_line", "beyond_neutral", "sentence", "embedding_similarity", "length", "random"),
)

#: Prompts that are read together.
_BATCH = 8

_VALUES, _HEADS, _SCORES = 0, 1, 2
_INSTRUMENT: Instrument = "faithfulness"

#: Which units of a line are kept, a 0 or a 1 for each.
AblationMask = str

#: Opens the model and the embedder.
OpenModels = Callable[[], tuple[LanguageModel, Embedder]]


@dataclass(frozen=True)
class AblatedLine:
    """A line whose prompt is ablated.

    Attributes:
        case: The case that it is from.
        units: Ids of the removable units of the prompt that it answered, in their order.
    """

    record: RunRecord
    line: SpokenLine
    case: str
    units: tuple[str, ...]

    @property
    def key(self) -> tuple[str, int]:
        """Run and turn."""
        return self.line.run, self.line.turn

    @property
    def full(self) -> AblationMask:
        """The ablation that removes nothing."""
        return "1" * len(self.units)

    def random_ablations(self, count: int) -> list[AblationMask]:
        """Return so many ablations, each unit kept with probability 1/2; of more, the first are the same."""
        drawn = []
        for row in range(count):
            generator = keyed_generator(
                self.record.seed, round=self.line.turn, agent=self.line.speaker, node=_INSTRUMENT, row=row
            )
            drawn.append("".join("1" if generator.random() < 0.5 else "0" for _ in self.units))
        return drawn

    def without(self, *places: int) -> AblationMask:
        """Return the ablation that removes the units at these places."""
        return "".join("0" if place in places else "1" for place in range(len(self.units)))

    def prompt(self, store: SqlStore, kept: AblationMask) -> Prompt:
        """Return the prompt that an ablation leaves."""
        ablated = (unit for unit, letter in zip(self.units, kept, strict=True) if letter == "0")
        return remove_units(store.prompt(self.line.full), [*self.line.removed, *ablated])

    def rendered(self, store: SqlStore, kept: AblationMask, model: LanguageModel) -> RenderedPrompt:
        """Return the prompt that an ablation leaves, as the model is fed it."""
        return utterance_request(self.prompt(store, kept), (), model.tokenizer, self.line.parameters).prompt


def ablated_line(store: SqlStore, record: RunRecord, line: SpokenLine, case: str) -> AblatedLine | None:
    """Return a line with the units of its prompt; `None` if these are fewer than `LEAST_UNITS`."""
    answered = remove_units(store.prompt(line.full), line.removed)
    units = tuple(unit.id for unit in answered.units if unit.removable)
    return AblatedLine(record, line, case, units) if len(units) >= LEAST_UNITS else None


def evenly_drawn(
    store: SqlStore, runs: Sequence[tuple[str, RunRecord]], source_of: Callable[[str], str], turns: int
) -> list[AblatedLine]:
    """Return so many lines of some runs, or all that there are: each source in turn, and each of its cases in turn.

    Which lines of a case come first is drawn.

    Args:
        runs: Each with the case that it is of.
    """
    by_case: dict[str, list[tuple[RunRecord, SpokenLine]]] = {}
    for case, run in runs:
        found = [(run, line) for line in spoken_lines(store, run) if line is not None]
        by_case.setdefault(case, []).extend(found)
    by_source: dict[str, list[Iterator[AblatedLine]]] = {}
    for case, lines in by_case.items():
        keyed_generator(1, agent=case, node="faithfulness: lines").shuffle(lines)
        by_source.setdefault(source_of(case), []).append(_with_units(store, case, lines))
    return [*islice(_in_turn([_in_turn(cases) for cases in by_source.values()]), turns)]


def _with_units(store: SqlStore, case: str, lines: Sequence[tuple[RunRecord, SpokenLine]]) -> Iterator[AblatedLine]:
    for run, line in lines:
        if (found := ablated_line(store, run, line, case)) is not None:
            yield found


def _in_turn(streams: Sequence[Iterator[AblatedLine]]) -> Iterator[AblatedLine]:
    """Yield one item of each stream, then the next of each, until all have ended."""
    left = [*streams]
    while left:
        for stream in [*left]:
            found = next(stream, None)
            if found is None:
                left.remove(stream)
            else:
                yield found


@dataclass
class _Known:
    """The stored values of one line, in one precision."""

    values: dict[AblationMask, float] = field(default_factory=dict)
    heads: dict[str, str] = field(default_factory=dict)
    scores: dict[str, dict[str, float]] = field(default_factory=dict)


class AblationFigures:
    """The figures of lines: taken from the store, or measured and stored.

    Attributes:
        name: The model, which is that of all lines.
    """

    def __init__(self, store: SqlStore, name: str, open_models: OpenModels) -> None:
        """Open nothing yet; `open_models` is called for a missing figure."""
        self.store, self.name = store, name
        self._open_models = open_models
        self._precision: str | None = None
        self._of_line: dict[tuple[str, int], dict[str, _Known]] = {}
        self._models: tuple[HeadAttentionModel, Embedder] | None = None

    def values(self, line: AblatedLine, wanted: Sequence[AblationMask]) -> dict[AblationMask, float]:
        """Return the value of each ablation, in nats per token.

        Raises:
            ModelError: The model failed, or is none whose attention heads can be seen.
        """
        distinct = [*dict.fromkeys(wanted)]
        for first in range(0, len(distinct), _BATCH):
            batch = distinct[first : first + _BATCH]
            known = self._known(line).values
            if missing := [kept for kept in batch if kept not in known]:
                model, _ = self._opened()
                known = self._known(line).values  # in the precision of the model
                missing = [kept for kept in batch if kept not in known]
                prompts = [line.rendered(self.store, kept, model) for kept in missing]
                asked = [Likelihood(prompt, line.line.reply) for prompt in prompts]
                for kept, value in zip(missing, asyncio.run(model.answer_batch(asked)), strict=True):
                    assert isinstance(value, float)
                    known[kept] = value
                self._save(line, _VALUES, "", {kept: repr(value) for kept, value in known.items()})
        known = self._known(line).values
        return {kept: known[kept] for kept in distinct}

    def heads(self, line: AblatedLine) -> list[list[float]]:
        """Return the attention of every layer's heads to each unit, layer by layer, `(N, L · H)`."""
        if not self._known(line).heads:
            model, _ = self._opened()
            if not self._known(line).heads:
                reply = line.line.reply
                prompt = line.rendered(self.store, line.full, model)
                tokens = reply.tokens[: reply.text_tokens[1]]
                by_unit = asyncio.run(model.head_attention(prompt, tokens, reply.text_tokens))
                written = {
                    unit: ";".join(",".join(f"{value:.7g}" for value in heads) for heads in by_unit[unit])
                    for unit in line.units
                }
                self._known(line).heads = written
                self._save(line, _HEADS, "", written)
        return [[float(value) for value in written.replace(";", ",").split(",")] for written in self._heads(line)]

    def layers(self, line: AblatedLine) -> int:
        """Return how many layers the attention by head has."""
        return self._heads(line)[0].count(";") + 1

    def _heads(self, line: AblatedLine) -> list[str]:
        known = self._known(line).heads
        return [known[unit] for unit in line.units]

    def scores(self, line: AblatedLine, scorer: str) -> list[float]:
        """Return the score of each unit by one of `MEASURED_SCORERS`."""
        if self._kept_as(scorer, line) not in self._known(line).scores:
            models = self._opened()
            known, name = self._known(line).scores, self._kept_as(scorer, line)
            if name not in known:
                found = _scored(self.store, line, scorer, *models)
                known[name] = {unit: float(f"{found[unit]:.9g}") for unit in line.units}
                self._save(line, _SCORES, name, {unit: repr(score) for unit, score in known[name].items()})
        known = self._known(line).scores
        return [known[self._kept_as(scorer, line)][unit] for unit in line.units]

    def _kept_as(self, scorer: str, line: AblatedLine) -> str:
        """Return the name under which scores are kept: those by learned weights have the weights' hash."""
        if scorer != "sentence":
            return scorer
        if self._models is None:
            return next((name for name in self._known(line).scores if name.startswith(scorer)), scorer)
        weights = self._models[0].traits.head_weights
        return f"{scorer} {'unlearned' if weights is None else weights.hash}"

    def _opened(self) -> tuple[HeadAttentionModel, Embedder]:
        if self._models is None:
            model, embedder = self._open_models()
            if not isinstance(model, HeadAttentionModel):
                raise ModelError(
                    f"{model.id} does not show its attention heads: only models with weights on this machine do; take "
                    "runs of such a model"
                )
            self._precision = precision_of(model)
            self._models = model, embedder
        return self._models

    def _known(self, line: AblatedLine) -> _Known:
        """Return the stored values of a line: in the open model's precision, else in that with most values."""
        if line.key not in self._of_line:
            self._of_line[line.key] = self._read(line)
        found = self._of_line[line.key]
        if self._precision is not None:
            return found.setdefault(self._precision, _Known())
        return max(found.values(), key=lambda known: len(known.values), default=_Known())

    def _read(self, line: AblatedLine) -> dict[str, _Known]:
        found: dict[str, _Known] = {}
        for precision, _, annotation in kept_figures(self.store, _INSTRUMENT, self.name, [line.line.run]):
            if annotation.first != line.line.turn or annotation.prompt != line.line.full:
                continue
            known = found.setdefault(precision, _Known())
            answers = {unit: str(answer) for unit, answer in annotation.answers.items()}
            if annotation.part == _HEADS:
                known.heads = answers
            elif annotation.part == _VALUES:
                known.values = {kept: float(value) for kept, value in answers.items()}
            else:
                known.scores[annotation.agent] = {unit: float(score) for unit, score in answers.items()}
        return found

    def _save(self, line: AblatedLine, part: int, scorer: str, answers: Mapping[str, str]) -> None:
        annotation = Annotation(
            instrument=_INSTRUMENT,
            model=named_with(self.name, self._precision or ""),
            agent=scorer,
            first=line.line.turn,
            last=line.line.turn,
            part=part,
            prompt=line.line.full,
            answers=dict(answers),
        )
        Annotations(self.store.file).save(line.line.run, [annotation])


def _scored(
    store: SqlStore, line: AblatedLine, scorer: str, model: HeadAttentionModel, embedder: Embedder
) -> Mapping[str, float]:
    """Return the score of every unit of the prompt that a line answered."""
    prompt, turn = line.prompt(store, line.full), line.line.turn
    if scorer == "attention":
        return asyncio.run(redrawn(model, prompt, line.line.parameters, 1, line.record.seed, turn))[0]
    reply = line.line.reply
    if scorer in ("attention_of_line", "beyond_neutral"):
        options = options_of_reading(model, prompt, [reply], line.line.parameters)
        options = replace(options, reducer="sum-mean" if scorer == "attention_of_line" else "beyond-neutral")
        rendered, tokens = line.rendered(store, line.full, model), reply.tokens[: reply.text_tokens[1]]
        return asyncio.run(model.score(rendered, [tokens], options, [reply.text_tokens]))[0]
    if scorer == "sentence":
        return asyncio.run(scores_of_line(model, prompt, reply, is_writer=True)) or dict.fromkeys(line.units, 0.0)
    if scorer == "embedding_similarity":
        return similarity_scores(embedder, _target(store, line), prompt.units)
    if scorer == "length":
        return {unit.id: float(len(model.tokenizer.encode(unit.text))) for unit in prompt.units}
    generator = keyed_generator(
        line.record.seed, round=turn, agent=line.line.speaker, node="faithfulness: random score"
    )
    return {unit.id: generator.random() for unit in prompt.units}


def _target(store: SqlStore, line: AblatedLine) -> str:
    """Return the scorer's text to compare units with: the last lines, or before any the names and the place."""
    turn, start = line.line.turn, store.start(line.line.run)
    turns = store.turns(line.line.run, max(1, turn - LATEST_LINES), turn - 1) if turn > 1 else []
    spoken = "\n".join(f"{each.speaker}: {each.text}" for each in turns if each.speaker is not None)
    return spoken or ". ".join([*start.names, getattr(start, "place", None) or ""])
