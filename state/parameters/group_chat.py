"""Parameters of group chat: agents' thinking, and the choice of the next speaker. Source: ChatAgents."""

from typing import Annotated, Literal

from pydantic import Field

from tertulia.state.parameters.group import ParameterGroup
from tertulia.state.parameters.model import SHORT

Hearing = Literal["noticed", "present", "all"]
Order = Literal["self_driven", "rule_based", "centralised", "random", "designated"]


class CognitionParameters(ParameterGroup):
    """Group chat: how much an agent notices, and how long it thinks."""

    perception_threshold: float = Field(
        0.12, ge=0, le=1, description="relevance from which a message enters working memory (CA §III-A)"
    )
    hearing: Hearing = Field(
        "noticed",
        description="lines that prompts hold: those that the agent noticed, all since they came, or the whole meeting",
    )
    working_memory: int = Field(8, ge=1, description="last noticed lines that an agent thinks about")
    max_thought_tokens: Annotated[int, Field(ge=8, le=512)] | Literal["auto"] = Field(
        "auto", description="length of a situation, and of a thought; auto: what suits the model"
    )
    max_reason_tokens: Annotated[int, Field(ge=4, le=256)] | Literal["auto"] = Field(
        "auto", description="length of a reason for or against a mechanism; auto: what suits the model"
    )
    choices: Literal["auto", "reply", "probabilities"] = Field(
        "auto",
        description="who says what is felt, switched on and settled: the model's reply (CA Fig. 6), or probabilities "
        "calibrated against lines without content; auto: what suits the model",
    )

    @property
    def thought_tokens(self) -> int:
        """The most tokens of a situation or a thought; those of a small model if that was not resolved."""
        return SHORT.thought if self.max_thought_tokens == "auto" else self.max_thought_tokens

    @property
    def reason_tokens(self) -> int:
        """The most tokens of a reason; those of a small model if that was not resolved."""
        return SHORT.reason if self.max_reason_tokens == "auto" else self.max_reason_tokens


class FloorParameters(ParameterGroup):
    """Group chat: the next speaker, and after how many seconds."""

    order: Order = Field("self_driven", description="who speaks next (CA Fig. 1)")
    willingness: Literal["heard", "computed", "rated"] = Field(
        "heard",
        description="where the parts of willingness come from: what lines touch in an agent; the topic's cosine as a "
        "whole, and state (CA App. B); or the model's ratings",
    )
    willingness_threshold: float = Field(0.5, ge=0, le=4, description="θ of willingness (CA App. B)")
    patience_rounds: int | None = Field(
        12,
        ge=1,
        description="rounds without a word of one's own after which the need to speak is full; unset: it never grows",
    )
    latency_scale_s: float = Field(2.0, gt=0, description="μ₀ of agents whose scenario gives no latency (CA Table III)")
    latency_spread_s: float = Field(
        1.0, ge=0, description="σ₀ of agents whose scenario gives no latency (CA Table III)"
    )
    latency_form: Literal["as_printed", "moment_matched"] = Field(
        "as_printed", description="as_printed: μ is the median of the draw (CA Eq. 6); moment_matched: its mean"
    )
    similarity_cutoff: float = Field(
        0.7, ge=0, le=1, description="weighted similarity above which a thought counts as continued (CA Table III)"
    )
    persistence: Literal["once", "compounding"] = Field(
        "once",
        description="whether the latency of who was willing without getting the floor is shortened once, or again for "
        "every such round (CA App. B)",
    )
    tie_s: float = Field(0.1, ge=0, description="latencies that differ by no more seconds tie (CA App. B)")
    reevaluation_s: float = Field(
        1.5, gt=0, description="Δt in seconds until willingness is evaluated again (CA App. B)"
    )
    silence_s: float = Field(10.0, gt=0, description="seconds without speech that make a silence (CA App. C)")
