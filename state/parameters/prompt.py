"""Parameters of the prompt: its blocks, the units that λ removes from it, and how it may be varied otherwise."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from tertulia.state.blocks import letter_of, letters_of
from tertulia.state.languages import DEFAULT, Language
from tertulia.state.parameters.group import ParameterGroup
from tertulia.state.parameters.layers import LAYER_CHOICES, read_layers
from tertulia.state.setpoint import Setpoint
from tertulia.state.variation import NAME_CHOICES, BlockLength, read_block_lengths, read_names, with_letters

#: The least and the most memories in a prompt. Source: APP Table 1.
MEMORY_ITEMS = 30, 45

Layout = Literal["single_message", "chat_turns"]

#: In whose words prompts ask; `prompts/templates/paper.yaml` has the paper's.
Wording = Literal["own", "paper"]

#: How the last lines are a focal point of retrieval.
FocalLines = Literal["each", "joined"]

#: The request of one call: an utterance; several of which one is drawn; or one that a random string decides.
GenerationWay = Literal["single", "sequential", "verbalized", "string_seed"]

#: How attention becomes the score of a unit; `models/local/attention_scores.py` and `head_attention.py` have formulas.
Reducer = Literal["sum-mean", "mean-mean", "capped", "beyond-neutral", "learned"]

#: Algorithm 1 (`nodes/utterance/prune.py`), and the other walks of `nodes/utterance/walks/`.
Walk = Literal["paper", "first_overshoot", "nearest", "calm"]

#: How far the share that is removed may be from λ before it is told, and before `calm` goes on.
REMOVAL_TOLERANCE = 0.02

#: The order in which Algorithm 1 visits units: by their scores; or as many words as from the highest down, of units
#: drawn at random.
RemovalOrder = Literal["descending", "ascending", "placebo"]


def _check_removable(letters: str) -> str:
    if "c" in letters:
        raise ValueError("the current dialogue (c) can't be removed: the conversation would not continue (APP §3.1)")
    if "s" in letters:
        raise ValueError("the situation and thought (s) can't be removed: they are what is about to be said")
    return letters


def _check_order(letters: str) -> str:
    if "c" not in letters:
        raise ValueError(f"the current dialogue (c) is missing from {letters!r}; a conversation needs it")
    return letters


def _check_lengths(lengths: str) -> str:
    read_block_lengths(lengths)
    return lengths


def _check_names(names: str) -> str:
    if names not in NAME_CHOICES:
        read_names(names)
    return names


def _written_layers(layers: object) -> object:
    """Return numbers of layers, as YAML may have them, as they are stored."""
    numbers = [layers] if isinstance(layers, int) and not isinstance(layers, bool) else layers
    return ",".join(map(str, numbers)) if isinstance(numbers, list | tuple) else layers


def _check_layers(layers: str) -> str:
    return layers if layers in LAYER_CHOICES else ",".join(map(str, read_layers(layers)))


#: Values that users write by initials or names of blocks, and that are stored by initials.
Block = Annotated[str, BeforeValidator(letter_of)]
BlockOrder = Annotated[str, BeforeValidator(letters_of), AfterValidator(_check_order)]
RemovableBlocks = Annotated[str, BeforeValidator(letters_of), AfterValidator(_check_removable)]
BlockLengths = Annotated[str, BeforeValidator(with_letters), AfterValidator(_check_lengths)]
Names = Annotated[str, AfterValidator(_check_names)]
ScoredLayers = Annotated[str, BeforeValidator(_written_layers), AfterValidator(_check_layers)]


class PruningParameters(ParameterGroup):
    """Adaptive Prompt Pruning: λ, and the scores by which it removes units."""

    removal_factor: float = Field(
        0.5, ge=0, le=1, description="λ: share of the removable attention to remove (APP §3.1)"
    )
    removal_order: RemovalOrder = Field(
        "descending",
        description="walk Algorithm 1 from the highest or the lowest score (APP §3.2); or placebo (ours): remove as "
        "many words as from the highest down, of units drawn at random (docs/experiments.md)",
    )
    removal_walk: Walk = Field(
        "paper",
        description="at a unit that would remove more than λ asks for: pass over it and go on (paper: Algorithm 1), "
        "stop before it, or stop where the sum is nearer to what λ asks for (ours: calmer), or pass over it and end "
        "within 0.02 of λ (calm: ours, calmer and as near as units allow; docs/diversity.md)",
    )
    pruning: Literal["every", "first", "when_repetitive"] = Field(
        "every",
        description="in which turns λ acts: every one; the first `pruning_turns`, which decide the most (APP App. D, "
        "Limitations); or where the last lines repeat each other (ours). In others the full prompt is not even scored",
    )
    pruning_turns: int = Field(4, ge=1, description="pruning=first: the number of utterances (APP Fig. 9: 3 or 4)")
    repetition_threshold: float = Field(
        0.9, ge=0, le=1, description="pruning=when_repetitive: prune where dist-3 over the last utterances is below"
    )
    removable_blocks: RemovableBlocks = Field(
        "bhmpe", description="blocks whose items λ may remove, by initials or names (APP §3.1)"
    )
    cut_long_units: bool = Field(
        True,
        description="an item with more than a quarter of the removable words is cut into its sentences, which are "
        "scored and removed one by one, and an earlier dialogue into its lines (ours); whole, λ below its share of the "
        "attention passes over it",
    )
    reducer: Reducer | None = Field(
        None,
        description="R of Eq. 1 (APP §3.1, App. C); unset: the model's. Ours: with capped and beyond-neutral, "
        "tokens count less that collect attention whatever is said; learned weighs heads by what ablations showed "
        "(docs/why.md)",
    )
    scoring_responses: int = Field(3, ge=1, le=16, description="responses over which a score is averaged (APP §3.1)")
    scoring_tokens: int | None = Field(
        None, ge=0, le=1024, description="tokens of a response that are scored; 0: all (APP §3.1); unset: the model's"
    )
    score_decay: float = Field(
        0.0,
        ge=0,
        le=1,
        description="weight of the scores of the speaker's turn before, beside this turn's; 0: none (APP §3.1)",
    )
    scored_layers: ScoredLayers = Field(
        "auto",
        description="layers over which Eq. 1 sums attention: all (APP §3.1); full: those that see the whole prompt, no "
        "sliding window of the last tokens alone; auto: full where a model mixes both, else all; or numbers, `0,5,11`",
    )
    record_scores: bool = Field(False, description="score also where λ = 0, where nothing is removed")


class SetpointParameters(ParameterGroup):
    """Steering: a level of diversity that is asked for, to which λ is steered."""

    diversity: float | None = Field(
        None,
        description="the figure that λ is steered to, of the metric that the setpoint is calibrated for; the option "
        "--diversity sets it, with what follows (docs/diversity.md)",
    )
    setpoint: Setpoint | None = Field(
        None, description="how diversity follows λ, as a pilot has measured it; JSON, as `--diversity` stores it"
    )


class PromptParameters(ParameterGroup):
    """The prompt: its blocks, their order, and how many memories and lines they show."""

    layout: Literal["auto", "single_message", "chat_turns"] = Field("auto", description="auto: what suits the model")
    wording: Wording = Field(
        "own",
        description="in whose words prompts, rating judge and sequential generation ask: the project's, or nearly the "
        "paper's (APP Table 9, §4.1, §5; in album chats Fig. 13 to 15 of theirs; docs/readings.md has the departures), "
        "in English only, and not in meetings",
    )
    language: Language = Field(
        DEFAULT, description="language of the prompts; without one, that of the scenario, or what it seems to be in"
    )
    block_order: BlockOrder = Field("bmpec", description="order of the blocks, by initials or names (APP Table 9)")
    special_rules: bool = Field(
        True,
        description="rules of how to speak stand in the prompt: in character, one thing at a time (APP Table 9: none)",
    )
    human_needs: bool = Field(False, description="draw a human-needs block for each agent (APP A.3)")
    case_seed: int | Literal["auto", "seed"] = Field(
        "auto",
        description="of what is drawn about a case, the same in all its trials: human needs, and who meets when in a "
        "town; auto: one that follows from the case's content; seed: the run's (APP A.3)",
    )
    prompt_draws: Literal["run", "case"] = Field(
        "run",
        description="by whose seed the example in a prompt and the scoring responses are drawn; case: trials of a case "
        "share those of their first prompt, which trials side by side then read and score once",
    )
    memory_items_min: Annotated[int, Field(ge=1)] | Literal["auto"] = Field(
        "auto", description="memories in a prompt, at least, if there are so many; auto: what suits the model"
    )
    memory_items_max: Annotated[int, Field(ge=1)] | Literal["auto"] = Field(
        "auto", description="memories in a prompt, at most; auto: what suits the model (APP Table 1: 30 to 45)"
    )
    focal_lines: FocalLines = Field(
        "each",
        description="the last lines by which memories are retrieved: each embedded once, and their mean by length; or "
        "joined to one text, which every turn embeds anew (GA is silent)",
    )
    retrieval_relevance: float = Field(1.0, ge=0, description="weight of relevance (GA §4.1)")
    retrieval_recency: float = Field(1.0, ge=0, description="weight of recency (GA §4.1)")
    retrieval_importance: float = Field(1.0, ge=0, description="weight of importance (GA §4.1)")
    previous_dialogues_max: int = Field(3, ge=0, description="earlier dialogues in a prompt (APP Table 1)")
    dialogue_window: int = Field(16, ge=1, description="last utterances of the current dialogue that a prompt shows")

    @property
    def memory_items(self) -> tuple[int, int]:
        """The least and the most memories in a prompt; the paper's if that was not resolved for a model."""
        return self.memory_items_within(MEMORY_ITEMS)

    def memory_items_within(self, suited: tuple[int, int]) -> tuple[int, int]:
        """Return the least and the most memories, open ones as they suit a model."""
        least, most = self.memory_items_min, self.memory_items_max
        if isinstance(most, int):
            return least if isinstance(least, int) else min(suited[0], most), most
        return (least, max(suited[1], least)) if isinstance(least, int) else suited

    @property
    def blocks(self) -> str:
        """The initials of the blocks in prompt order; human needs, if switched on, come after b (Table 9)."""
        order = self.block_order.replace("h", "") if not self.human_needs else self.block_order
        if self.human_needs and "h" not in order:
            at = order.index("b") + 1 if "b" in order else 0
            order = f"{order[:at]}h{order[at:]}"
        return order


class VariationParameters(ParameterGroup):
    """Other ways to vary the prompt and the draws from it; docs/experiments.md has each of them at work."""

    generation: GenerationWay = Field(
        "single",
        description="one utterance in a reply; several of which one is drawn (sequential: APP §5, Table 3), or drawn "
        "by the probabilities that the model states with them (verbalized: Zhang et al. 2025); or one behind a random "
        "string that shall decide it (string_seed: Misaki and Akiba 2025)",
    )
    sequential_candidates: int = Field(10, ge=2, le=20, description="utterances in one reply (APP §5)")
    verbalized_below: float = Field(
        1.0,
        gt=0,
        le=1,
        description="generation=verbalized: replies less probable than this are asked for, and drawn first, the tail; "
        "1: all alike (Zhang et al. 2025)",
    )
    retain: Literal["highest", "lowest"] | None = Field(
        None, description="instead of λ: keep a single removable item, by its score in its block (APP §3.2, Fig. 5b)"
    )
    retain_block: Block = Field("m", description="block that has the one item, by initial or name (APP Fig. 5b)")
    removed_blocks: RemovableBlocks = Field(
        "", description="blocks that no prompt has, by initials or names (RMb to RMbmpe of APP Table 2)"
    )
    block_lengths: BlockLengths = Field(
        "",
        description="items or words of a block, by duplicating or dropping items: `m=10` items, `m=250w` exactly so "
        "many words, `m~250w` as near as items allow, and nothing where there are none (APP App. E, Table 7)",
    )
    items_from: str | None = Field(
        None,
        description="a case whose items prompts of a dialogue have in the place of their own removable ones, as many "
        "words of each block, its people under the names of those here (placebo, docs/experiments.md): a scenario, "
        "several with commas between them of which the first that will do is taken, or all cases of one, tidewell:all",
    )
    names: Names = Field(
        "own", description="people's names in prompts: own, famous, rare, or A=B,C=D (APP §6, Table 4)"
    )

    @property
    def lengths(self) -> dict[str, BlockLength]:
        """The lengths that blocks shall have, by initial."""
        return read_block_lengths(self.block_lengths)

    @property
    def prompts_are_varied(self) -> bool:
        """Whether anything is changed in a prompt before it is scored."""
        return bool(self.removed_blocks or self.block_lengths or self.names != "own" or self.items_from)
