"""A stored turn in Python."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tertulia.api.arguments import MODEL
from tertulia.api.tables import Records
from tertulia.runs.access.engines import ModelAccess
from tertulia.state.errors import UsageError
from tertulia.state.records import Candidate, Turn
from tertulia.state.text import shortened
from tertulia.state.wrong_arguments import check_argument, check_texts, path_of, whole_number, with_named_arguments
from tertulia.views.reading.bids import BidReasons, bid_reasons
from tertulia.views.reading.documents import unit_documents
from tertulia.views.reading.exchanges import RecordedExchange
from tertulia.views.reading.leaning import Reason, reasons
from tertulia.views.reading.rounds import AgentRound
from tertulia.views.reading.turns import LineDetails, TurnDetails, parameters_of
from tertulia.views.reading.why import why_turn

#: Characters of an utterance that a turn's line shows.
_SHOWN = 60


@dataclass(frozen=True)
class TurnUnit:
    """A unit of the prompt of a turn.

    Attributes:
        id, block, kind, text, removable: As in `tertulia.state.records.Unit`.
        line_score: How much the line leaned on it: an estimated loss in nats a token, or an attention; `None`: not
            scored.
        measured_loss: The measured loss of the line without it, in nats a token (`StoredTurn.check`); `None`: it was
            not measured.
        score: The attention that possible replies paid to it, by which λ removes (APP Eq. 1); `None` if nothing was
            scored.
        removed: Whether it was removed from the prompt.
    """

    id: str
    block: str
    kind: str
    text: str
    removable: bool
    line_score: float | None
    score: float | None
    removed: bool
    measured_loss: float | None = None


@dataclass(frozen=True)
class Moved:
    """The reasons of an agent of a meeting to speak, or not to, in a round.

    Attributes:
        bid: Exact, from the record: the parts of willingness, how they changed since the round before, and the causes
            that raised them; `None` without a bid, and for a person.
        leaned_on: The units that the thought leaned on, those that count most first, none: nothing in particular;
            `None` if no model has read the thought (`StoredTurn.check`).
    """

    bid: BidReasons | None
    leaned_on: Records[Reason] | None


class StoredTurn:
    """A turn of a stored run, or a part of one, and how it came about, which is read when it is asked for.

    Turns are equal that say the same at the same place, wherever they are stored.
    """

    #: The fields of its record, as a data frame has them.
    columns = tuple(Turn.model_fields)

    def __init__(
        self,
        turn: Turn,
        read: Callable[[], LineDetails],
        document: Callable[[LineDetails], dict[str, Any]],
        check: "Callable[[str | None, str | None, int, ModelAccess], StoredTurn] | None" = None,
    ) -> None:
        """Wrap the record of a turn, how its making is read and written as JSON, and how its line is checked."""
        self._turn, self._read = turn, read
        self._document = document
        self._check = check

    @cached_property
    def details(self) -> LineDetails:
        """The records of its making."""
        return self._read()

    @property
    def _whole(self) -> TurnDetails | None:
        """The records of a turn; `None` for a part of one."""
        return self.details if isinstance(self.details, TurnDetails) else None

    @property
    def turn(self) -> int:
        """Its number, from 1."""
        return self._turn.turn

    @property
    def speaker(self) -> str | None:
        """The speaker; `None` in a silence."""
        return self._turn.speaker

    @property
    def text(self) -> str:
        """The utterance; empty in a silence."""
        return self._turn.text

    @property
    def round(self) -> int:
        """The round that it was said in, from 1."""
        return self._turn.round

    @property
    def sim_time_s(self) -> float:
        """The simulated seconds from the start of the conversation to its first word."""
        return self._turn.sim_time_s

    @property
    def ended(self) -> bool:
        """Whether the conversation ended with it."""
        return self._turn.ended

    @property
    def why(self) -> str:
        """How it came about in one or two sentences: the reasons of the line, the units removed, the choice."""
        return why_turn(self.details)

    @with_named_arguments
    def check(
        self,
        *,
        reader: str | None = None,
        agent: str | None = None,
        calls: int | None = None,
        cache: Path | str | None = None,
        api_keys: Mapping[str, str] | None = None,
    ) -> "StoredTurn":
        """Measure the reasons of its line, and return the turn with them, as `show --check` does.

        A model reads the line behind its prompt, and behind the same without each unit that `why` names; without scores
        of the line, and for a model on a server, without every unit, or random ones of them if these are too many. The
        measures are kept with the run, and `why` uses them from then on. Of an exchange, all parts are checked; in a
        meeting the thought of the speaker too, or that of `agent` alone, and `moved` has its reasons.

        `run.turn(2).check().why` is the sentence with the measured reasons.

        Args:
            reader: The model that reads the line; if it is not given, the one that scored it, or the run's own.
            agent: In a meeting, whose thought is checked instead of the line; any agent that was there.
            calls: Readings of a line, at most; 64 if it is not given.
            cache, api_keys: As in `tertulia.run`.

        Raises:
            UsageError: The run is rehearsed, nobody spoke, a person wrote the line; or this is a part of a turn.
            ModelError: The model failed, or does not tell how likely a line is; measures so far are kept.
        """
        from tertulia.lab.annotations.leave_one_out import CALLS

        check_argument("reader", reader, str, MODEL)
        check_argument("agent", agent, str, "an agent is named by a text: agent='Cindy'")
        check_texts("api_keys", api_keys, "keys are given by variable: api_keys={'OPENAI_API_KEY': …}")
        budget = CALLS if calls is None else whole_number("calls", calls, "the number of readings is an integer")
        if self._check is None:
            raise UsageError(f"a part is checked with its turn: run.turn({self.turn}).check().parts")
        access = ModelAccess(keys=dict(api_keys or {}))
        if cache is not None:
            access = ModelAccess(Path(path_of("cache", cache)), dict(api_keys or {}))
        return self._check(reader, agent, budget, access)

    @property
    def leaned_on(self) -> Records[Reason] | None:
        """The units that the line leaned on, those that count most first; none: nothing in particular.

        `None` if the line was not scored.
        """
        found = reasons(self.details)
        return None if found is None else Records(found)

    @property
    def moved(self) -> dict[str, Moved]:
        """What moved each agent of the round to speak, or not to; empty in a dialogue of two."""
        details, found = self._whole, dict[str, Moved]()
        if details is None or details.round is None:
            return found
        for agent in details.round.agents:
            thought = details.thoughts.get(agent.agent)
            leaned_on = None if thought is None else reasons(thought)
            parameters = parameters_of(details.run, agent.agent)
            records = None if leaned_on is None else Records(leaned_on)
            found[agent.agent] = Moved(bid_reasons(agent, parameters), records)
        return found

    @property
    def units(self) -> Records[TurnUnit]:
        """The units of the full prompt, in prompt order: reasons of the line, scores, removed or not."""
        return Records(TurnUnit(**unit) for unit in unit_documents(self.details))

    @property
    def candidates(self) -> Records[Candidate]:
        """The candidates that were drawn, or rewritten, in the order of their attempts, with the judge's figures."""
        return Records(self.details.candidates)

    @property
    def removed_share(self) -> float:
        """The share in [0, 1] of the removable units' attention that the removed ones have."""
        return self.details.removed_share

    @property
    def rollbacks(self) -> int:
        """The number of backups that were taken."""
        return self.details.record.rollbacks

    @property
    def exchange(self) -> RecordedExchange | None:
        """The exchange with its picture, plan and answer; `None` in other conversations than album chats."""
        return None if self._whole is None else self._whole.exchange

    @property
    def parts(self) -> "dict[str, StoredTurn]":
        """The further utterances of the turn: `plan` and `answer` of an exchange, none in other conversations."""
        parts = {} if self._whole is None else self._whole.parts
        return {part: _part(details, self._document) for part, details in parts.items()}

    @property
    def agents(self) -> Records[AgentRound]:
        """The cognition of each agent in the turn's round; empty in a dialogue of two."""
        round = None if self._whole is None else self._whole.round
        return Records(round.agents if round is not None else ())

    def document(self) -> dict[str, Any]:
        """Return the document that `tertulia show RUN --turn N --json` prints."""
        return self._document(self.details)

    def __repr__(self) -> str:
        removed = sum(unit.removed for unit in self.units)
        words = shortened(self.text, _SHOWN)
        return f"<turn {self.turn}, {self.speaker or 'a silence'}: {words!r}, {removed} units removed>"

    def __eq__(self, other: object) -> bool:
        return self._turn == (other._turn if isinstance(other, StoredTurn) else other)

    def __hash__(self) -> int:
        return hash(self._turn)


def _part(details: LineDetails, document: Callable[[LineDetails], dict[str, Any]]) -> StoredTurn:
    return StoredTurn(details.record.turn, lambda: details, document)
