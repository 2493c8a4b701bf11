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

    @field_validator("block_order", "removable_blocks")
    @classmethod
    def _known_initials(cls, letters: str) -> str:
        for letter in letters:
            if letter not in BLOCK_INITIALS:
                raise ValueError(f"unknown block letter {letter!r}{_letters_hint()}")
            if letters.count(letter) > 1:
                raise ValueError(f"block letter {letter!r} stands twice in {letters!r}")
        return letters

    @field_validator("block_order")
    @classmethod
    def _has_current_dialogue(cls, letters: str) -> str:
        if "c" not in letters:
            raise ValueError(f"the current dialogue (c) is missing from {letters!r}; a conversation needs it")
        return letters

    @field_validator("removable_blocks")
    @classmethod
    def _never_the_current_dialogue(cls, letters: str) -> str:
        if "c" in letters:
            raise ValueError(
                "the current dialogue (c) can't be removed: the conversation would not continue (APP §3.1)"
            )
        if "s" in letters:
            raise ValueError("the situation and thought (s) can't be removed: they are what is about to be said")
        return letters

    @property
    def blocks(self) -> str:
        """The initials of the blocks in prompt order; human needs, where switched on, stand after b (Table 9)."""
        order = self.block_order.replace("h", "") if not self.human_needs else self.block_order
        if self.human_needs and "h" not in order:
            at = order.index("b") + 1 if "b" in order else 0
            order = f"{order[:at]}h{order[at:]}"
        return order

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
            values[name] = _read_scalar(value, values[name])
        try:
            changed = type(self).model_validate(values)
        except ValidationError as error:
            raise UsageError(_first_problem(error)) from None
        if changed.memory_items_min > changed.memory_items_max:
            raise UsageError(
                f"memory_items_min={changed.memory_items_min} is above memory_items_max={changed.memory_items_max}; "
                "set both"
            )
        return changed


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


def _letters_hint() -> str:
    return " (known: " + ", ".join(f"{letter} {block}" for letter, block in BLOCK_INITIALS.items()) + ")"


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
