"""Parameters of the models: their tasks, their sampling, their connection, and how they judge."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from tertulia.state.parameters.group import ParameterGroup
from tertulia.state.records import Record

Judge = Literal["rating", "likelihood", "off"]
Ending = Literal["reply", "continuation", "off"]
Choices = Literal["reply", "probabilities"]
Actions = Literal["keep", "apart", "drop"]


@dataclass(frozen=True)
class Lengths:
    """How many tokens a model may write as an utterance, as a thought, and as a reason."""

    utterance: int
    thought: int
    reason: int


class ModelWeights(Record):
    """The parts of a model that may have adapters, each with the hash of its content."""

    base: str = Field(description="the model that the adapters were put onto")
    base_hash: str | None = Field(default=None, description="of the base's files: blake2b, 16 bytes, in hexadecimal")
    adapters: str | None = Field(
        default=None, description="the adapters as they were named; `shipped`: the embedded model's voice; None: none"
    )
    adapters_hash: str | None = Field(default=None, description="of the adapters' file, rank and scale")


#: The temperature of models that need no other. Source: APP §5, Table 3.
TEMPERATURE = 0.8

#: The values that suit a model of a hundred million parameters, one that runs on one's machine, and one on a server.
SHORT, MEDIUM, LONG = Lengths(60, 32, 12), Lengths(120, 64, 32), Lengths(240, 120, 60)


class SamplingParameters(ParameterGroup):
    """Models and sampling: the models that think and judge, how tokens are drawn, and the end of an utterance."""

    precision: Literal["auto", "float32", "bfloat16", "float16"] = Field(
        "auto", description="precision of the model's weights; auto: what the hardware likes"
    )
    judge_model: str | None = Field(None, description="the model that judges for everybody; unset: the speaker's")
    thinking_model: str | None = Field(
        None, description="the model that thinks for everybody in a group chat or a town; unset: the agent's"
    )
    surrogate: str | None = Field(
        None, description="a local model that scores the replies of a model that shows no attention (docs/models.md)"
    )
    embedder: str | None = Field(
        None,
        description="the embedder of memories and lines, by which they are retrieved and compared: a folder or a hub "
        "id, for a language that the embedded one can't read (docs/languages.md); unset: minilm",
    )
    temperature: float | None = Field(
        None, gt=0, le=5, description="unset: the model's own, 0.8 for most (APP §5, Table 3)"
    )
    top_p: float = Field(0.9, gt=0, le=1, description="APP §5, Table 3")
    min_p: float = Field(
        0.0,
        ge=0,
        le=1,
        description="the share of the likeliest token's probability, at the temperature, below which no token is drawn "
        "(Nguyen et al. 2024); beside top_p, both hold; 0: off",
    )
    no_repeat_ngram: int | None = Field(
        None,
        ge=0,
        description="consecutive tokens that speech may not repeat from the dialogue, from its last lines at most 3; "
        "0: no limit; unset: the model's",
    )
    dry: float = Field(
        0.0,
        ge=0,
        le=10,
        description="DRY's multiplier: speech that would go on with n tokens said before, from 2, costs its next token "
        "dry * 1.75^(n - 2) of its logit (0.8 is usual); 0: off",
    )
    drafts: int | None = Field(
        None,
        ge=1,
        le=16,
        description="replies from which the best is taken: the likeliest, each ended with its first sentence of four "
        "words or more, or with context_strength that which has most to do with the prompt's items; unset: the model's",
    )
    matched_decoding: bool = Field(
        True,
        description="whether an utterance is decoded alike whatever λ removes: as many drafts, and the same words not "
        "to be repeated, also where nothing is left by which drafts differ; false: then one draft, and what was "
        "removed may be repeated",
    )
    redraws: int = Field(
        2,
        ge=0,
        le=8,
        description="how often an utterance is drawn again that makes no sense where it is said, by a rule "
        "(docs/measuring.md); 0: never, and no loop ends a conversation",
    )
    context_strength: float | None = Field(
        None,
        ge=0,
        le=5,
        description="α: how often what the context adds to a token's likelihood is added again; unset: the model's",
    )
    max_utterance_tokens: Annotated[int, Field(ge=8, le=1024)] | Literal["auto"] = Field(
        "auto", description="an utterance ends with a sentence before this; auto: what suits the model"
    )
    actions: Actions = Field(
        "keep",
        description="actions in the lines of a served model, such as *sets down her cup*: keep them as written; apart: "
        "shown to readers, not to models; drop them",
    )
    ending: Literal["auto", "reply", "continuation", "off"] = Field(
        "auto",
        description="who says that the conversation ends: the reply itself (APP Table 9), what comes next, or nobody",
    )
    ending_threshold: float | None = Field(
        None, ge=0, le=1, description="P(they part) above which ending=continuation ends it; unset: the model's own"
    )

    weights: dict[str, ModelWeights] = Field(
        {}, description="by model, what those with adapters are made of; noted by the run, and not to be set"
    )

    @property
    def sampling_temperature(self) -> float:
        """The temperature; the paper's if that was not resolved for a model."""
        return TEMPERATURE if self.temperature is None else self.temperature

    @property
    def utterance_tokens(self) -> int:
        """The most tokens of an utterance; those of a small model if that was not resolved for a model."""
        return SHORT.utterance if self.max_utterance_tokens == "auto" else self.max_utterance_tokens


class ServerParameters(ParameterGroup):
    """Requests to models on other people's servers."""

    request_timeout_s: float = Field(120.0, gt=0, description="seconds that a request to a remote model may take")
    max_retries: int = Field(6, ge=0, le=100, description="retries of a request that failed temporarily")
    max_concurrency: int = Field(8, ge=1, le=1024, description="concurrent requests to each server of a remote model")
    requests_per_minute: float | None = Field(
        None, gt=0, description="requests to each server of a remote model per minute, at most; unset: any number"
    )
    max_reply_tokens: int | None = Field(
        None, ge=16, description="tokens that a remote model may write, hidden thinking included; unset: its own limit"
    )


class JudgeParameters(ParameterGroup):
    """Judging an utterance, and revising one that conflicts with removed units."""

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
    persona_check: bool = Field(
        False,
        description="at every λ, judge the reply against all that its speaker is and remembers, and revise it where it "
        "conflicts: a judgement more where nothing was removed, and up to max_rollbacks replies",
    )
    revision: Literal["rollback", "rewrite", "combined", "off"] = Field(
        "rollback",
        description="what is done about a conflict: take a backup, rewrite by the comment (APP §4.1), whichever the "
        "model says it can (APP Limitations), or nothing",
    )
