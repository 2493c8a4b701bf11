"""The trials of an experiment as they are measured: each is read once for all metrics."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tertulia.lab.annotations.next_line import SpokenLine, spoken_lines
from tertulia.lab.experiments.results import TrialRun
from tertulia.metrics.diversity import Dialogue, dialogue_text, n_grams
from tertulia.metrics.participation import Participation
from tertulia.metrics.post_removal import PostRemoval
from tertulia.metrics.pruning import Inconsistency, Removal, inconsistency_of, removal_of
from tertulia.metrics.recitation import recites
from tertulia.metrics.repetition import ends_in_repetition
from tertulia.state.language_model import Embedder
from tertulia.state.meeting import Start
from tertulia.state.records import BLOCK_INITIALS, Prompt, TurnRecord
from tertulia.state.store import Store
from tertulia.views.measuring.participation import read_participation
from tertulia.views.measuring.population import Conversation, conversation_of_run
from tertulia.views.reading.faults import found_in_run

#: Lengths of n-grams.
_LENGTHS = (1, 2, 3)
#: The block of a prompt with the earlier lines of the same conversation.
_CURRENT = "current_dialogue"


@dataclass(frozen=True)
class Spoken:
    """A dialogue, or an utterance of it, in words.

    Attributes:
        grams: By n from 1 to 3, how often each n-gram of words occurs.
        words, utterances: Their numbers.
        ends_in_repetition: Whether the last utterance equals an earlier one; `None` if there is none.
    """

    grams: Mapping[int, Counter[tuple[str, ...]]]
    words: int
    utterances: int
    ends_in_repetition: bool | None


@dataclass(frozen=True)
class Making:
    """How a turn came about.

    Attributes:
        removal: The removal from its prompt; `None` without a prompt.
        left: By initial of a block, its share in the removable items that are left.
        inconsistency: Before and after revision.
    """

    removal: Removal | None
    left: Mapping[str, float]
    inconsistency: Inconsistency


@dataclass(frozen=True)
class Prompted:
    """An utterance and the items of its prompt.

    Attributes:
        speaker, text: The speaker and the line.
        kept, removed: The items of the prompt that were left and removed, without the current dialogue.
    """

    speaker: str
    text: str
    kept: tuple[str, ...]
    removed: tuple[str, ...]


class KnownVectors:
    """An embedder that embeds each text once."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[tuple[str, bool], list[float]] = {}

    @property
    def id(self) -> str:
        """The name of the embedder."""
        return self._embedder.id

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the vectors of texts, at the embedder's length limit."""
        return self._vectors(texts, False)

    def embed_untruncated(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the vectors of texts, each embedded whole."""
        return self._vectors(texts, True)

    def _vectors(self, texts: Sequence[str], is_whole: bool) -> list[list[float]]:
        new = [text for text in dict.fromkeys(texts) if (text, is_whole) not in self._known]
        embed = self._embedder.embed_untruncated if is_whole else self._embedder.embed
        for text, vector in zip(new, embed(new) if new else (), strict=True):
            self._known[text, is_whole] = vector
        return [self._known[text, is_whole] for text in texts]


class MeasuredTrial:
    """A finished run of an experiment, and its readings for metrics."""

    def __init__(self, found: TrialRun, store: Store, read_prompt: Callable[[str], Prompt] | None = None) -> None:
        """Take a finished trial.

        Args:
            read_prompt: Reads a prompt by its hash, one that other trials have too once for all; `None`: the store.
        """
        self.setting, self.run, self.dialogue = found.setting, found.run, found.dialogue
        self.first_turn = found.first_turn
        self._store, self._read_prompt = store, read_prompt or store.prompt
        self._spoken: dict[int | None, Spoken] = {}
        #: Set by `measured_by_models`: how likely each utterance is, the entropy of its tokens, how far the first
        #: prompt diverges from the baseline's, the attention after removal, how people of each pole of a trait came
        #: across, and how far people's own answers to the questionnaire cover their given traits.
        self.likelihoods: Sequence[float | None] = ()
        self.entropies: Sequence[float | None] = ()
        self.divergence: float | None = None
        self.attention: PostRemoval | None = None
        self.poles: Mapping[str, float | None] = {}
        self.answered: Mapping[str, float | None] = {}

    def lines(self, at: int | None = None) -> Dialogue:
        """Return the dialogue, or its utterance at an index from 0 alone; empty if it does not reach that."""
        return self.dialogue if at is None else self.dialogue[at : at + 1]

    def text(self, at: int | None = None) -> str:
        """Return the text to embed: the dialogue, or the words of an utterance."""
        return dialogue_text(self.dialogue) if at is None else self.dialogue[at][1]

    def spoken(self, at: int | None = None) -> Spoken:
        """Return the dialogue, or its utterance at an index, in words."""
        if at not in self._spoken:
            lines = self.lines(at)
            grams = {n: Counter(n_grams([lines], n)) for n in _LENGTHS}
            self._spoken[at] = Spoken(grams, grams[1].total(), len(lines), ends_in_repetition(lines))
        return self._spoken[at]

    @cached_property
    def makings(self) -> list[Making]:
        """How its turns came about, in their order."""
        return [
            self._making(self._store.turn_record(self.run.run, turn.turn))
            for turn in self._store.turns(self.run.run, self.first_turn)
        ]

    def _making(self, record: TurnRecord) -> Making:
        prompt = self._read_prompt(record.prompt) if record.prompt is not None else None
        candidates = self._store.candidates(self.run.run, record.turn.turn)
        return Making(removal_of(record, prompt), _left(record, prompt), inconsistency_of(record, candidates))

    @cached_property
    def prompted(self) -> list[Prompted | None]:
        """Its utterances with the items of their prompts, in their order; `None` of those without a prompt."""
        spoken = [turn for turn in self._store.turns(self.run.run, self.first_turn) if turn.speaker is not None]
        return [self._prompted(self._store.turn_record(self.run.run, turn.turn)) for turn in spoken]

    def _prompted(self, record: TurnRecord) -> Prompted | None:
        if record.prompt is None or record.turn.speaker is None:
            return None
        prompt, removed = self._read_prompt(record.prompt), set(record.removed)
        items = [unit for unit in prompt.units if unit.kind == "item" and unit.block != _CURRENT]
        kept = tuple(unit.text for unit in items if unit.id not in removed)
        return Prompted(
            record.turn.speaker, record.turn.text, kept, tuple(unit.text for unit in items if unit.id in removed)
        )

    @cached_property
    def recited(self) -> list[float | None]:
        """Of each utterance, whether it recites an item that was left in its prompt; `None` of those without items."""
        return [
            float(recites(line.text, line.kept)) if line is not None and (line.kept or line.removed) else None
            for line in self.prompted
        ]

    @cached_property
    def spoken_lines(self) -> list[SpokenLine | None]:
        """Its utterances with their prompts; `None` for those that its model did not speak."""
        return spoken_lines(self._store, self.run, self.first_turn)

    @cached_property
    def has_faults(self) -> list[bool]:
        """Of each utterance, whether it makes no sense at its place."""
        return [bool(faults) for faults in found_in_run(self._store, self.run, first=self.first_turn)]

    @cached_property
    def participation(self) -> Participation:
        """The participation of its people."""
        return read_participation(self._store, self.run, self.start, self.first_turn)

    @cached_property
    def conversation(self) -> Conversation:
        """Its lines without names, as measures of a population take them."""
        return conversation_of_run(self._store, self.run, self.first_turn)

    @cached_property
    def start(self) -> Start:
        """Its start."""
        return self._store.start(self.run.run)


def _left(record: TurnRecord, prompt: Prompt | None) -> dict[str, float]:
    """Return the share of each block in the removable items that are left; empty if none is."""
    removed = set(record.removed)
    left = [unit.block for unit in (prompt.units if prompt else ()) if unit.removable and unit.id not in removed]
    return {initial: left.count(block) / len(left) for initial, block in BLOCK_INITIALS.items()} if left else {}
