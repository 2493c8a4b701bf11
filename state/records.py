"""Frozen, JSON-able records of utterances, memories, prompts, judgements and runs."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from tertulia.state.person import Memory as Memory
from tertulia.state.person import MemoryKind as MemoryKind
from tertulia.state.person import Participant as Participant
from tertulia.state.person import Persona as Persona
from tertulia.state.person import Record as Record
from tertulia.state.person import Remembered as Remembered
from tertulia.state.person import Stream as Stream

UnitKind = Literal["item", "text"]
Origin = Literal["drawn", "backup", "rewritten", "by_hand", "vetoed"]
RunStatus = Literal["running", "interrupted", "failed", "finished"]

#: Why a run or a simulation is over, or was left: its own end (a goodbye, lines that only repeat earlier ones, the end
#: of its schedule, fewer than two people who stay or return, its last day), a limit that it was given, or its driver's.
EndedBy = Literal[
    "said goodbye",
    "repetition",
    "schedule",
    "nobody left",
    "days",
    "rounds",
    "minutes",
    "budget",
    "stopped",
    "left by a person",
]
RunKind = Literal["dialogue", "group_chat", "album_chat"]

#: Blocks that have initials: those of Table 9 of APP in its order, with those that group chat and album chat put before
#: the last of them. The other blocks (opening, example, task, special_rules, output_instruction) have their place from
#: the layout.
BLOCK_INITIALS = {
    "b": "basic_info",
    "h": "human_needs",
    "m": "memory",
    "p": "previous_dialogues",
    "e": "environment",
    "g": "goals",
    "r": "mechanisms",
    "s": "situation",
    "a": "album",
    "i": "picture",
    "c": "current_dialogue",
}

#: Simulated seconds of a conversation, at most: thirty years. A moment so much later can be written down.
LONGEST_S = 1e9


class HasWithheld(Record):
    """A record that lists withheld facts: facts of its source that cannot be known yet at its time."""

    withheld: tuple[str, ...] = Field(default=(), description="facts of the source that nobody can know yet")


# --- the people ------------------------------------------------------------------------------------------------------


class Utterance(Record):
    """A line of a dialogue."""

    speaker: str
    text: str


class Dialogue(Record):
    """A dialogue that took place before the case."""

    time: datetime
    utterances: tuple[Utterance, ...]


class HumanNeeds(Record):
    """How an agent feels during a case. Source: APP A.3, after Humanoid Agents (Wang et al. 2023)."""

    unsatisfied: tuple[tuple[str, str], ...] = Field(description="pairs of modifier (may be empty) and adjective")
    emotion: str | None = Field(description="None: neutral")
    closeness: str = Field(description="how close the agent feels to the listener")


class Appointment(Record):
    """The earlier agreement of two people that meet (`state/agreements.py`).

    Attributes:
        run: The conversation in which they did.
        number: The number among the agreements of that conversation, from 1.
        made: When they did.
        what: The proposer's words.
    """

    run: str
    number: int = Field(ge=1)
    made: datetime
    what: str


class Case(HasWithheld):
    """A starting point of a two-party dialogue: two agents at a time and a place. Source: APP §2."""

    scenario: str = Field(description="the name under which a user runs it again")
    time: datetime
    place: str | None = None
    description: str | None = Field(
        default=None, exclude_if=lambda text: text is None, description="the situation, as both know it"
    )
    appointment: Appointment | None = Field(
        default=None, exclude_if=lambda made: made is None, description="what they had agreed on, if they meet for it"
    )
    initiator: Participant
    partner: Participant
    previous_dialogues: tuple[Dialogue, ...] = Field(
        default=(), description="earlier dialogues of the two, oldest first"
    )
    items_from: "Case | None" = Field(
        default=None,
        exclude_if=lambda case: case is None,
        description="another case, under the names of the people here, whose items prompts have instead of its own",
    )

    def participant(self, name: str) -> Participant:
        """Return the participant of that name (`KeyError` if it is neither of the two)."""
        for participant in (self.initiator, self.partner):
            if participant.persona.name == name:
                return participant
        raise KeyError(name)

    @property
    def shown(self) -> "Case":
        """The case whose items prompts have: another, or this one."""
        return self if self.items_from is None else self.items_from

    def other(self, name: str) -> Participant:
        """Return the participant other than `name`."""
        return self.partner if self.initiator.persona.name == name else self.initiator

    @property
    def kind(self) -> RunKind:
        """The kind of run that starts here."""
        return "dialogue"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the two, the initiator's first."""
        return self.initiator.persona.name, self.partner.persona.name

    def present(self, sim_time_s: float) -> tuple[str, ...]:
        """Return the names of the people there after so many seconds: always the two."""
        return self.names


# --- prompts --------------------------------------------------------------------------------------------------------


class Unit(Record):
    """The smallest element of a prompt: a piece of information (item) or an instruction (text). Source: APP §2."""

    id: str
    block: str
    kind: UnitKind
    text: str
    removable: bool = False
    speaker: str | None = Field(
        default=None, description="who said it, for the utterances of a dialogue shown as turns"
    )
    picture: str | None = Field(
        default=None, description="content hash of the picture that a model is shown in the place of the text"
    )


class Prompt(Record):
    """A modular prompt: its units in order, and their layout."""

    units: tuple[Unit, ...]
    speaker: str = Field(description="whose utterance is asked for")
    layout: str

    def blocks(self) -> tuple[str, ...]:
        """Return the names of the blocks in prompt order, each once."""
        return tuple(dict.fromkeys(unit.block for unit in self.units))


# --- a run ----------------------------------------------------------------------------------------------------------


class Reply(Record):
    """A model's reply to one prompt."""

    text: str = Field(description="the whole reply as written, JSON included, its prefix at the beginning")
    tokens: tuple[int, ...] = Field(description="exactly the tokens of the response, without those of its prefix")
    text_tokens: tuple[int, int] = Field(description="[first, past_last] of the tokens that hold the first text field")
    fields: dict[str, str | bool | int]
    information: float | None = Field(
        default=None,
        description="the measure of drafts, in nats per token: the mean log-probability of its texts or, with "
        "context_strength, their pointwise mutual information with the prompt's context; None: not measured",
    )
    thought: str | None = Field(
        default=None,
        exclude_if=lambda thought: thought is None,
        description="the model's reasoning, which is never said, judged or remembered; None: it showed none",
    )
    with_actions: dict[str, str] | None = Field(
        default=None,
        exclude_if=lambda lines: lines is None,
        description="by field, the lines as they were written, whose actions are not in `fields`; None: none has any",
    )
    remark: str | None = Field(
        default=None,
        exclude_if=lambda remark: remark is None,
        description="how the answer was read where it was not as asked for",
    )
    unsent: tuple[str, ...] = Field(
        default=(),
        exclude_if=lambda unsent: not unsent,
        description="parameters of sampling that the model's server did not take, and was not sent: with which it drew "
        "is unknown",
    )
    usage: tuple[int, int] | None = Field(
        default=None,
        exclude=True,  # it goes into the call, once
        description="tokens read and written, as a remote model's server counted them; None: those of the prompt, and "
        "`tokens`",
    )


class Candidate(Record):
    """An utterance that was considered for a turn. Source: APP §4.1.

    If people have other names in prompts, `reply` has those; `text` is the utterance as it would be said.
    """

    attempt: int = Field(
        ge=0,
        description="0: the first; then its backups; behind them what was rewritten, from 1000 what was vetoed; 2000: "
        "what a person wrote instead",
    )
    text: str
    reply: Reply
    origin: Origin = Field(
        default="drawn",
        description="drawn first, as a backup, rewritten from another one, by hand, or vetoed by the monitor of sense",
    )
    inconsistency: float | None = None
    inconsistency_runs: tuple[float, ...] = ()
    comment: str | None = None
    rewritable: bool | None = Field(
        default=None, description="whether the removed units were found to suffice to revise it; None: not asked"
    )
    faults: tuple[str, ...] | None = Field(
        default=None, description="why it makes no sense (nodes/shared/line_faults.py); None: nothing was looked for"
    )
    probability: float | None = Field(
        default=None, description="what the model that wrote it among others stated; None: nothing that could be read"
    )
    string_seed: str | None = Field(
        default=None,
        description="the random string that it was to follow from, empty: none was written; None: not asked",
    )
    remark: str | None = Field(default=None, description="how the answer was read where it was not as asked for")


class Turn(Record):
    """A turn of a conversation, as everybody perceives it. A recorded silence has no speaker.

    Turn 0 is how a meeting opened; it is shown and perceived like a turn, and stored with the meeting.
    """

    turn: int = Field(ge=0)
    round: int = Field(ge=0)
    speaker: str | None
    text: str
    sim_time_s: float = Field(
        ge=0,
        le=LONGEST_S,
        description="simulated seconds from the start of the conversation to its first word",
    )
    ended: bool


class TurnRecord(Record):
    """A turn, and how it came about: its prompt, the removed units, the scorer and the judge."""

    turn: Turn
    prompt: str | None = Field(default=None, description="content hash of the full prompt")
    scores: dict[str, float] | None = Field(default=None, description="attention score by unit id; None: not scored")
    removed: tuple[str, ...] = Field(default=(), description="ids of the units that were removed")
    chosen: int = Field(default=0, description="attempt number of the candidate that was said")
    rollbacks: int = Field(default=0, ge=0)
    scored_by: str | None = None
    judged_by: str | None = None
    removal_factor: float | None = Field(default=None, description="λ as it was in force; None: nothing was scored")
    line_scores: dict[str, float] | None = Field(
        default=None,
        description="by unit id of the prompt that was answered, how much the line leaned on it; None: not scored",
    )
    line_scored_by: str | None = Field(default=None, description="who scored the line (state/line_scores.py)")


class ParticipantModel(Record):
    """The model of a single participant, and the run's parameters as they suit it."""

    model: str
    parameters: dict[str, object]


class Extension(Record):
    """A file, an installed package, or a Python object, from which a run has nodes or mechanisms."""

    source: str = Field(description="the file, absolute; the name of the package's entry point; or `python:NAME`")
    hash: str = Field(description="of its content: blake2b, 16 bytes, in hexadecimal")
    code: str | None = Field(default=None, description="the source of a Python object; None for files and packages")


class Trial(Record):
    """The place of a run in an experiment."""

    experiment: str
    setting: str
    case: str = Field(description="the scenario, as the experiment names it")
    trial: int = Field(ge=1)
    cohort: int = Field(ge=1, description="number of the group of runs that are driven side by side")


class Platform(Record):
    """The causes of a local model's or embedder's digits, besides model, prompts and batches.

    If an embedder alone computes here, device, precision, threads and processor are its.
    """

    device: str
    precision: str
    threads: int | None = Field(description="of the processor; None: a GPU computes")
    processor: str = Field(description="the instructions that a processor has; the name of a GPU")
    versions: dict[str, str] = Field(description="of the libraries that compute, of Tertulia, and of its engine")
    embedder: str | None = Field(
        default=None,
        description="what makes the vectors of `minilm`; None: another embedder does, or there are none",
    )

    def phrase(self) -> str:
        """Return it in words, without the parts that do not compute."""
        threads = [] if self.threads is None else [f"{self.threads} thread{'s' * (self.threads != 1)}"]
        libraries = [f"{name} {version}" for name, version in self.versions.items() if name != "tertulia"]
        return ", ".join([self.processor, self.precision, *threads, *libraries])

    def differences(self, before: "Platform") -> list[str]:
        """Return the differences from before, in words."""
        words = {"device": "device", "precision": "precision", "processor": "processor"}
        found = [
            f"{name} {getattr(self, field)} instead of {getattr(before, field)}"
            for field, name in words.items()
            if getattr(self, field) != getattr(before, field)
        ]
        if self.threads != before.threads and None not in (self.threads, before.threads):
            found.append(f"{self.threads} thread{'s' * (self.threads != 1)} instead of {before.threads}")
        names = dict.fromkeys([*self.versions, *before.versions])
        changed = [name for name in names if self.versions.get(name) != before.versions.get(name)]
        if self.embedder != before.embedder and None not in (self.embedder, before.embedder):
            found.append(f"vectors of {self.embedder} instead of {before.embedder}")
        none = "none that was recorded"
        return found + [f"{n} {self.versions.get(n, none)} instead of {before.versions.get(n, none)}" for n in changed]


#: The name of the stand-in without weights, as model and as embedder.
REHEARSAL = "rehearsal"

#: The scenario of runs within graphs of a user's own.
HOSTED_SCENARIO = "langgraph"


class RunRecord(Record):
    """A run in the store."""

    run: str
    status: RunStatus
    kind: RunKind
    scenario: str
    model: str
    embedder: str
    rehearsed: bool = Field(description="whether a stand-in spoke in any of its turns, those that it shares included")
    seed: int
    parameters: dict[str, object]
    participant_models: dict[str, ParticipantModel] = Field(
        default={}, description="by participant, for those who have a model of their own"
    )
    extensions: tuple[Extension, ...] = ()
    turns: int = 0
    parent: tuple[str, int] | None = Field(
        default=None, description="run, and turn from which it was forked: it has the turns before that in common"
    )
    rewritten: bool = Field(default=False, description="whether that turn has the parent's thoughts, and new words")
    label: str | None = Field(default=None, description="what the user calls it")
    trial: Trial | None = Field(default=None, description="its place in an experiment; None: it is of none")
    error: str | None = None
    ended_by: EndedBy | None = Field(
        default=None, description="why it finished or was interrupted; None: it is under way, or `error` tells"
    )
    created: datetime

    @property
    def is_rehearsal(self) -> bool:
        """Whether a stand-in speaks in its own turns; a fork of a rehearsal may have a model in them."""
        return self.rehearsed and (self.parent is None or self.model == REHEARSAL)


def status_in_words(status: RunStatus, ended_by: EndedBy | None) -> str:
    """Return the status of a run or a simulation, with the reason of its end in brackets."""
    return f"{status} ({ended_by})" if ended_by else status


def order_of(run: RunRecord) -> str | None:
    """Return the speaking order of a group chat; `None` for a dialogue of two."""
    return str(run.parameters.get("order")) if run.kind == "group_chat" else None
