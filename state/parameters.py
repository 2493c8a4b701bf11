"""Every parameter of a run with its default, and where the default comes from.

`APP` is Chu, Chen and Nakayama (EMNLP 2025); `CA` is ChatAgents (Huang et al. 2025); `GA` is Park et al. (2023). Where
a paper is silent, docs/readings.md says why the default is what it is.
"""

from collections.abc import Mapping
from typing import Any, Literal

import yaml
from pydantic import ConfigDict, Field, ValidationError, field_validator

from state.errors import UsageError, nearest_hint
from state.records import BLOCK_INITIALS, Record
from state.variation import NAME_CHOICES, BlockLength, letters_hint, read_block_lengths, read_names

Layout = Literal["single_message", "chat_turns"]
Judge = Literal["rating", "likelihood", "off"]
Ending = Literal["reply", "continuation", "off"]
Order = Literal["self_driven", "rule_based", "centralised", "random", "designated"]


#: The value of a parameter of a node or a mechanism.
NodeSetting = bool | int | float | str

#: Other names under which a parameter may be set.
ALIASES = {"lambda": "removal_factor", "λ": "removal_factor", "max_rounds": "max_turns"}

#: What a group chat sets otherwise (CA App. C: 100 rounds or 30 minutes); a scenario's own settings come over it.
GROUP_CHAT: Mapping[str, Any] = {
    "max_turns": 100,
    "max_minutes": 30.0,
    "block_order": "bmpegrsc",
    "removable_blocks": "bhmpegr",
    "ending": "off",
    "memory_items_min": 3,
    "memory_items_max": 12,
}


class Parameters(Record):
    """The knobs of a run. `removal_factor` is λ, the one that the project exists for."""

    model_config = ConfigDict(allow_inf_nan=False)

    # Adaptive Prompt Pruning
    removal_factor: float = Field(
        0.5, ge=0, le=1, description="λ: share of the removable attention to remove (APP §3.1)"
    )
    removal_order: Literal["descending", "ascending"] = Field(
        "descending", description="walk Algorithm 1 from the highest or the lowest score (APP §3.2)"
    )
    removable_blocks: str = Field("bhmpe", description="initials of the blocks whose items λ may remove (APP §3.1)")
    block_order: str = Field("bmpec", description="order of the blocks by initials (APP Table 9)")
    human_needs: bool = Field(False, description="draw a human-needs block for each agent (APP A.3)")
    reducer: Literal["sum-mean", "mean-mean"] = Field("sum-mean", description="R of Eq. 1 (APP §3.1, App. C)")
    scoring_responses: int = Field(3, ge=1, le=16, description="responses over which a score is averaged (APP §3.1)")
    scored_rows: Literal["reply", "utterance_only"] = Field("reply", description="reply tokens whose attention counts")
    record_scores: bool = Field(False, description="score also where λ = 0, where nothing is removed")

    # Prompt
    layout: Literal["auto", "single_message", "chat_turns"] = Field("auto", description="auto: what suits the model")
    memory_items_min: int = Field(
        30, ge=1, description="memories in a prompt, at least, if there are so many (APP Table 1)"
    )
    memory_items_max: int = Field(45, ge=1, description="memories in a prompt, at most (APP Table 1)")
    retrieval_relevance: float = Field(1.0, ge=0, description="weight of relevance (GA §4.1)")
    retrieval_recency: float = Field(1.0, ge=0, description="weight of recency (GA §4.1)")
    retrieval_importance: float = Field(1.0, ge=0, description="weight of importance (GA §4.1)")
    recency_decay: float = Field(0.995, gt=0, le=1, description="decay of recency per simulated hour (GA §4.1)")
    previous_dialogues_max: int = Field(3, ge=0, description="earlier dialogues in a prompt (APP Table 1)")
    dialogue_window: int = Field(16, ge=1, description="last utterances of the current dialogue that a prompt shows")

    # Model and sampling
    precision: Literal["auto", "float32", "bfloat16", "float16"] = Field(
        "auto", description="precision of the model's weights; auto: what the hardware likes"
    )
    judge_model: str | None = Field(None, description="a model to judge for everybody; unset: who speaks")
    thinking_model: str | None = Field(None, description="a model to think for everybody in a group; unset: who speaks")
    surrogate: str | None = Field(
        None, description="a local model that scores what a model has said that shows no attention (docs/models.md)"
    )
    temperature: float = Field(0.8, gt=0, le=5, description="APP §5, Table 3")
    top_p: float = Field(0.9, gt=0, le=1, description="APP §5, Table 3")
    no_repeat_ngram: int | None = Field(
        None,
        ge=0,
        description="tokens in a row that speech may not repeat from the dialogue; 0: any; unset: the model's",
    )
    max_utterance_tokens: int = Field(60, ge=8, le=1024, description="an utterance ends with a sentence before this")
    ending: Literal["auto", "reply", "continuation", "off"] = Field(
        "auto",
        description="who says that the conversation ends: the reply itself (APP Table 9), what comes next, or nobody",
    )
    ending_threshold: float | None = Field(
        None, ge=0, le=1, description="P(they part) above which ending=continuation ends it; unset: the model's own"
    )

    # Models of other people's servers
    request_timeout_s: float = Field(120.0, gt=0, description="seconds that a request to a remote model may take")
    max_retries: int = Field(6, ge=0, le=100, description="times that a request that failed for a while is tried again")
    max_concurrency: int = Field(8, ge=1, le=1024, description="requests to a remote model at the same time")
    requests_per_minute: float | None = Field(
        None, gt=0, description="of each remote model, at most; unset: any number"
    )
    max_reply_tokens: int | None = Field(
        None, ge=16, description="tokens that a remote model may write, hidden thinking included; unset: its own limit"
    )

    # Judge and rollback
    judge: Literal["auto", "rating", "likelihood", "off"] = Field("auto", description="auto: what suits the model")
    judge_runs: int = Field(3, ge=1, le=16, description="scoring runs of the rating judge (APP §4.1)")
    inconsistency_threshold: float | None = Field(
        None, description="θ: unset: 6.67 for the rating judge (APP §4.1), the model's own for the likelihood judge"
    )
    max_rollbacks: int = Field(3, ge=0, le=16, description="backups to fall back on (APP §4.1)")
    backups: Literal["with_utterance", "on_demand"] = Field(
        "with_utterance", description="when the backups are drawn (APP §4.1: with the utterance)"
    )
    judge_baseline: bool = Field(False, description="at λ = 0, judge the reply against all items (APP §4.2, Fig. 7)")
    revision: Literal["rollback", "rewrite", "combined", "off"] = Field(
        "rollback",
        description="what is done about a conflict: take a backup, rewrite by the comment (APP §4.1), whichever the "
        "model says it can (APP Limitations), or nothing",
    )

    # Other ways to vary; docs/experiments.md has each of them at work
    generation: Literal["single", "sequential"] = Field(
        "single", description="one utterance in a reply, or several of which one is drawn (APP §5, Table 3)"
    )
    sequential_candidates: int = Field(10, ge=2, le=20, description="utterances in one reply (APP §5)")
    retain: Literal["highest", "lowest"] | None = Field(
        None, description="in the place of λ: keep one removable item, by its score in its block (APP §3.2, Fig. 5b)"
    )
    retain_block: str = Field("m", description="initial of the block that has the one item (APP Fig. 5b)")
    removed_blocks: str = Field("", description="initials of blocks that no prompt has (RMb to RMbmpe of APP Table 2)")
    block_lengths: str = Field(
        "",
        description="items or words of a block, by duplicating or dropping items: `m=10` items, `m=250w` exactly so "
        "many words, `m~250w` as near as items allow (APP App. E, Table 7)",
    )
    names: str = Field(
        "own", description="what people are called in prompts: own, famous, rare, or A=B,C=D (APP §6, Table 4)"
    )
    names_put_back: bool = Field(True, description="whether what is said has people's own names again (APP is silent)")

    # Group chat: cognition
    perception_threshold: float = Field(
        0.25, ge=0, le=1, description="relevance from which a message enters working memory (CA §III-A)"
    )
    working_memory: int = Field(8, ge=1, description="last noticed lines that an agent thinks about")
    mechanism_timeout_s: float = Field(
        20.0, gt=0, description="seconds that a mechanism may take, its waiting for the model not counted"
    )
    max_thought_tokens: int = Field(32, ge=8, le=512, description="length of a situation, and of a thought")
    max_reason_tokens: int = Field(12, ge=4, le=256, description="length of a reason for or against a mechanism")

    # Group chat: the floor
    order: Order = Field("self_driven", description="who speaks next (CA Fig. 1)")
    willingness_threshold: float = Field(0.5, ge=0, le=4, description="θ of willingness (CA App. B)")
    latency_scale_s: float = Field(2.0, gt=0, description="μ₀ for who has no latency of their own (CA Table III)")
    latency_spread_s: float = Field(1.0, ge=0, description="σ₀ for who has no latency of their own (CA Table III)")
    latency_form: Literal["as_printed", "moment_matched"] = Field(
        "as_printed", description="as_printed: μ is the median of the draw (CA Eq. 6); moment_matched: its mean"
    )
    similarity_cutoff: float = Field(
        0.7, ge=0, le=1, description="weighted similarity above which a thought counts as continued (CA Table III)"
    )
    scale_sensitivity: float = Field(0.5, ge=0, description="k₁ of CA Eq. 4")
    spread_sensitivity: float = Field(0.3, ge=0, description="k₂ of CA Eq. 5")
    persistence_factor: float = Field(
        0.7, gt=0, le=1, description="on the latency of who was willing and not heard (CA App. B)"
    )
    persistence: Literal["once", "compounding"] = Field(
        "once", description="whether the factor grows with every round unheard"
    )
    tie_s: float = Field(0.1, ge=0, description="latencies that differ by no more tie (CA App. B)")
    reevaluation_s: float = Field(1.5, gt=0, description="Δt until willingness is looked at again (CA App. B)")
    silence_s: float = Field(10.0, gt=0, description="seconds without speech that make a silence (CA App. C)")

    # Days of a town
    reflection_threshold: float = Field(
        40.0,
        gt=0,
        description="importance of new memories that makes one reflect (GA §4.2: 150, where all that is seen counts)",
    )

    # A seat for a person (docs/runs.md)
    seat: str | None = Field(None, description="whose words somebody at the keyboard types; unset: nobody's")
    seat_clock: Literal["waits", "runs"] = Field(
        "waits", description="whether the time that they take counts: waits: a latency is drawn, as for everybody"
    )

    # Limits and clock
    max_turns: int = Field(
        16, ge=1, description="most turns: 16 as in the logs (APP Table 8), 100 rounds of group chat (CA App. C)"
    )
    max_minutes: float | None = Field(None, gt=0, description="simulated minutes after which a conversation ends")
    speaking_rate_wpm: float = Field(150.0, gt=0, description="words a minute")

    # Nodes and mechanisms (docs/extending.md); set as `nodes.PLACE=NAME` and `NAME.PARAMETER=VALUE`
    nodes: dict[str, str] = Field({}, description="by place, the node that stands there, where it is not the default")
    node_settings: dict[str, dict[str, NodeSetting | None]] = Field(
        {}, description="by node or mechanism, its own parameters, where they are not the defaults"
    )

    @field_validator("block_order", "removable_blocks", "removed_blocks")
    @classmethod
    def _known_initials(cls, letters: str) -> str:
        for letter in letters:
            if letter not in BLOCK_INITIALS:
                raise ValueError(f"unknown block letter {letter!r}{letters_hint()}")
            if letters.count(letter) > 1:
                raise ValueError(f"block letter {letter!r} stands twice in {letters!r}")
        return letters

    @field_validator("block_order")
    @classmethod
    def _has_current_dialogue(cls, letters: str) -> str:
        if "c" not in letters:
            raise ValueError(f"the current dialogue (c) is missing from {letters!r}; a conversation needs it")
        return letters

    @field_validator("removable_blocks", "removed_blocks")
    @classmethod
    def _never_the_current_dialogue(cls, letters: str) -> str:
        if "c" in letters:
            raise ValueError(
                "the current dialogue (c) can't be removed: the conversation would not continue (APP §3.1)"
            )
        if "s" in letters:
            raise ValueError("the situation and thought (s) can't be removed: they are what is about to be said")
        return letters

    @field_validator("retain_block")
    @classmethod
    def _one_initial(cls, letter: str) -> str:
        if letter not in BLOCK_INITIALS:
            raise ValueError(f"it is the letter of one block{letters_hint()}")
        return letter

    @field_validator("block_lengths")
    @classmethod
    def _known_lengths(cls, lengths: str) -> str:
        read_block_lengths(lengths)
        return lengths

    @field_validator("names")
    @classmethod
    def _known_names(cls, names: str) -> str:
        if names not in NAME_CHOICES:
            read_names(names)
        return names

    @property
    def blocks(self) -> str:
        """The initials of the blocks in prompt order; human needs, where switched on, stand after b (Table 9)."""
        order = self.block_order.replace("h", "") if not self.human_needs else self.block_order
        if self.human_needs and "h" not in order:
            at = order.index("b") + 1 if "b" in order else 0
            order = f"{order[:at]}h{order[at:]}"
        return order

    @property
    def lengths(self) -> dict[str, BlockLength]:
        """The lengths that blocks shall have, by initial."""
        return read_block_lengths(self.block_lengths)

    @property
    def prompts_are_varied(self) -> bool:
        """Whether anything is changed in a prompt before it is scored."""
        return bool(self.removed_blocks or self.block_lengths or self.names != "own")

    @property
    def drawn_max(self) -> int:
        """How many candidates a turn may draw; the numbers of those that are rewritten begin behind them."""
        return self.sequential_candidates if self.generation == "sequential" else self.max_rollbacks + 1

    @property
    def revisions_max(self) -> int:
        """How often an utterance may be revised."""
        if self.revision == "off":
            return 0
        return self.max_rollbacks if self.revision == "rewrite" else min(self.max_rollbacks, self.drawn_max - 1)

    @property
    def scores_are_wanted(self) -> bool:
        """Whether a prompt is scored: where something is removed by score, or where it is asked for."""
        return self.removal_factor > 0 or self.retain is not None or self.record_scores

    def judging_is_wanted(self, has_removed_units: bool) -> bool:
        """Whether a candidate is judged: against what was removed, or at λ = 0 as the baseline against all items."""
        is_baseline = self.removal_factor == 0 and self.judge_baseline
        return self.judge != "off" and (has_removed_units or is_baseline)

    def with_settings(self, settings: Mapping[str, Any]) -> "Parameters":
        """Return a copy with some parameters changed.

        Args:
            settings: Values by parameter name; strings are read as YAML scalars (`0.5`, `true`, `null`). `nodes.PLACE`
                is the name of a node, or `None` for the default; `NAME.PARAMETER` is a node's own, or a mechanism's.

        Raises:
            UsageError: For an unknown name (with the nearest known one) or a value outside its range.
        """
        values = self.model_dump()
        for given, value in settings.items():
            name = ALIASES.get(given, given)
            if "." in name:
                _set_dotted(values, name, value)
                continue
            if name not in type(self).model_fields:
                raise UsageError(f"unknown parameter {name!r}{nearest_hint(name, SETTABLE)}")
            may_be_unset = type(self).model_fields[name].default is None
            values[name] = None if may_be_unset and value == "null" else _read_scalar(value, values[name])
        try:
            changed = type(self).model_validate(values)
        except ValidationError as error:
            raise UsageError(_first_problem(error)) from None
        if changed.memory_items_min > changed.memory_items_max:
            raise UsageError(
                f"memory_items_min={changed.memory_items_min} is above memory_items_max={changed.memory_items_max}; "
                "set both"
            )
        changed._check_blocks()
        return changed

    def _check_blocks(self) -> None:
        """Refuse what asks for items of a block that is not there, or that stays.

        Raises:
            UsageError: `block_lengths` or `retain_block` has such a block.
        """
        if missing := next((letter for letter in self.lengths if letter in self.removed_blocks), None):
            raise UsageError(
                f"block_lengths={self.block_lengths}: {missing} is a block that removed_blocks={self.removed_blocks} "
                "takes out"
            )
        if self.retain is not None and (
            self.retain_block not in self.removable_blocks or self.retain_block in self.removed_blocks
        ):
            raise UsageError(
                f"retain_block={self.retain_block} is no block of which all items but one may go; set it to one of "
                f"removable_blocks={self.removable_blocks} that removed_blocks={self.removed_blocks} leaves"
            )


#: The names that take one value, aliases among them.
SETTABLE = (*ALIASES, *(name for name in Parameters.model_fields if name not in ("nodes", "node_settings")))


def _set_dotted(values: dict[str, Any], name: str, value: Any) -> None:
    """Set `nodes.PLACE`, or a parameter of a node or a mechanism; nothing is known of either here."""
    owner, _, key = name.partition(".")
    if not owner or not key:
        raise UsageError(f"unknown parameter {name!r}; write nodes.PLACE=NAME or NAME.PARAMETER=VALUE")
    read = _read_scalar(value, None)
    if owner != "nodes":
        own = values["node_settings"].get(owner, {})
        values["node_settings"] = {**values["node_settings"], owner: {**own, key: read}}
    elif read is None:
        values["nodes"] = {place: node for place, node in values["nodes"].items() if place != key}
    else:
        values["nodes"] = {**values["nodes"], key: value}


def _read_scalar(value: Any, current: Any) -> Any:
    if not isinstance(value, str) or isinstance(current, str):
        return value
    try:
        return yaml.safe_load(value)
    except (yaml.YAMLError, ValueError, LookupError, RecursionError):  # PyYAML raises these too, as for `!!int ""`
        return value


def _first_problem(error: ValidationError) -> str:
    problem = error.errors()[0]
    name = ".".join(str(part) for part in problem["loc"]) or "parameters"
    return f"{name}={problem['input']}: {problem['msg'].removeprefix('Value error, ')}"
