"""Every parameter of a run with its default, and where the default comes from.

`APP` is Chu, Chen and Nakayama (EMNLP 2025); `GA` is Park et al. (2023). Where a paper is silent, docs/readings.md
says why the default is what it is.
"""

from collections.abc import Mapping
from typing import Any, Literal

import yaml
from pydantic import ConfigDict, Field, ValidationError, field_validator

from state.errors import UsageError, nearest_hint
from state.records import BLOCK_INITIALS, Record

Layout = Literal["single_message", "chat_turns"]
Judge = Literal["rating", "likelihood", "off"]
Ending = Literal["reply", "continuation"]


#: Other names under which a parameter may be set.
ALIASES = {"lambda": "removal_factor", "λ": "removal_factor"}


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
    ending: Literal["auto", "reply", "continuation"] = Field(
        "auto", description="who says that the conversation ends: the reply itself (APP Table 9), or what comes next"
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

    # Limits and clock
    max_turns: int = Field(16, ge=1, description="longest dialogue, as in the logs (APP Table 8)")
    max_minutes: float | None = Field(None, gt=0, description="simulated minutes after which a conversation ends")
    speaking_rate_wpm: float = Field(150.0, gt=0, description="words a minute")

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
            settings: Values by parameter name; strings are read as YAML scalars (`0.5`, `true`, `null`).

        Raises:
            UsageError: For an unknown name (with the nearest known one) or a value outside its range.
        """
        values = self.model_dump()
        for given, value in settings.items():
            name = ALIASES.get(given, given)
            if name not in type(self).model_fields:
                raise UsageError(
                    f"unknown parameter {name!r}{nearest_hint(name, (*ALIASES, *type(self).model_fields))}"
                )
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


def _letters_hint() -> str:
    return " (known: " + ", ".join(f"{letter} {block}" for letter, block in BLOCK_INITIALS.items()) + ")"


def _read_scalar(value: Any, current: Any) -> Any:
    if not isinstance(value, str) or isinstance(current, str):
        return value
    try:
        return yaml.safe_load(value)
    except yaml.YAMLError:
        return value


def _first_problem(error: ValidationError) -> str:
    problem = error.errors()[0]
    name = ".".join(str(part) for part in problem["loc"]) or "parameters"
    return f"{name}={problem['input']}: {problem['msg'].removeprefix('Value error, ')}"
