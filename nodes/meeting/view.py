"""An agent's view of a round of group chat, and how it asks its model."""

import random
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import inf
from typing import Any, TypeVar, cast

from tertulia.nodes.shared.asking import ask_model
from tertulia.nodes.shared.asking import text_of as text_of  # extensions import it from here
from tertulia.nodes.shared.hearing import came_s, changes_seen, turns_heard, was_there
from tertulia.prompts.cognition import AgentSituation, Question, ask_agent, ask_anybody
from tertulia.prompts.examples import draw_example
from tertulia.prompts.templates import PromptTemplate, template
from tertulia.state.cognition import Assessment, Character, Finding
from tertulia.state.context import Context
from tertulia.state.graph_state import CognitionInput, Mind
from tertulia.state.inner_places import Address, nobody_asked
from tertulia.state.language_model import ReplyField
from tertulia.state.meeting import Attendee, Meeting
from tertulia.state.randomness import keyed_generator
from tertulia.state.records import Reply, Turn

T = TypeVar("T")


@dataclass(frozen=True)
class _ReadInRound:
    """Stored data that agents have read in a round, by what was asked for."""

    of_round: tuple[str, int]
    values: dict[Hashable, object] = field(default_factory=dict)


@dataclass(frozen=True)
class View:
    """An agent's view of a round.

    Attributes:
        context: The runtime context as it is for the agent.
        round: The round, from 1; 0 before the meeting.
        present: The names of the people present, in the scenario's order.
        sim_time_s: Simulated seconds since the meeting began.
        silence_s: Seconds since the last word.
        mind: The state that the agent carries from round to round.
        address: Whom the last line asks, as far as the run finds out.
        part: The mechanism that has the view, if any.
    """

    context: Context
    name: str
    round: int
    present: tuple[str, ...]
    sim_time_s: float
    silence_s: float
    spoken: dict[str, int]
    mind: Mind
    address: Address
    part: str = ""

    @classmethod
    def of(cls, state: CognitionInput, context: Context) -> "View":
        """Return the view of the agent of this cognition."""
        return cls(
            context=context.of(state["agent"], "think"),
            name=state["agent"],
            round=state["round"],
            present=tuple(state["present"]),
            sim_time_s=state["sim_time_s"],
            silence_s=state["silence_s"],
            spoken=state["spoken"],
            mind=state["mind"],
            address=state.get("address", nobody_asked()),
        )

    @property
    def meeting(self) -> Meeting:
        """The meeting."""
        return self.context.meeting

    @property
    def language(self) -> str:
        """The language of the agent's prompts."""
        return self.context.parameters.language

    @property
    def texts(self) -> PromptTemplate:
        """The questions to the agent, and the mechanisms' texts for them, in the language of their prompts."""
        return template("cognition", self.language)

    @property
    def agent(self) -> Attendee:
        """The agent, as the scenario has them."""
        return self.meeting.participant(self.name)

    @property
    def character(self) -> Character:
        """The agent, as they are in this run."""
        character = self._read_once(("prepare", self.name), lambda: character_of(self.context, self.name))
        assert character is not None
        return character

    @property
    def now(self) -> datetime:
        """The simulated time."""
        return self.meeting.time + timedelta(seconds=self.sim_time_s)

    def message(self) -> Turn | None:
        """Return the last turn, or the opening of the meeting, if the agent was there to hear it.

        `None` before anybody has spoken, and for agents that have come since.
        """
        turn = self._read_once("message", lambda: last_turn(self.context, self.round))
        hears_all = self.context.parameters.hearing == "all"
        return turn if turn is not None and (hears_all or was_there(self.meeting, self.name, turn)) else None

    def lines(self) -> tuple[Turn, ...]:
        """Return the turns that the agent thinks about, oldest first: those in working memory.

        With `hearing=present` they are the last since they came, noticed or not, with `hearing=all` the last of all.
        """
        window = self.context.parameters.working_memory
        if self.context.parameters.hearing != "noticed":
            return turns_heard(self.context, self.name, self.round, window, self.sim_time_s).turns[-window:]
        opening = self.meeting.opening_turn
        turns = [self._turn(number) if number else opening for number in self.mind["noticed"]]
        return tuple(turn for turn in turns if turn is not None and was_there(self.meeting, self.name, turn))

    def situation(self) -> AgentSituation:
        """Return the agent's situation, for a prompt."""
        message, lines, parameters = self.message(), self.lines(), self.context.parameters
        is_full = len(lines) >= parameters.working_memory
        missed = parameters.hearing == "noticed" and message is not None and message.turn not in self.mind["noticed"]
        last = self.last_assessment()
        return AgentSituation(
            meeting=self.meeting,
            agent=self.agent,
            character=self.character,
            now=self.now,
            present=self.present,
            emotion=self.mind["emotion"],
            emotion_strength=self.mind["emotion_strength"],
            lines=lines,
            missed=missed,
            changes=changes_seen(self.meeting, self.name, lines[0].sim_time_s if is_full else 0.0, self.sim_time_s),
            has_heard_nothing=not lines and (self.meeting.opening is not None or any(self.spoken.values())),
            last_situation=last.situation if last else "",
            last_thought=last.thought if last else "",
            language=self.language,
        )

    def last_assessment(self) -> Assessment | None:
        """Return how the agent saw things in the round before; `None` in their first round."""
        context, before = self.context, self.round - 1
        return self._read_once(
            ("assess", self.name), lambda: context.store.step(context.run, before, self.name, "assess", Assessment)
        )

    def _turn(self, number: int) -> Turn:
        turn = self._read_once(("turn", number), lambda: self.context.store.turns(self.context.run, number, number)[0])
        assert turn is not None
        return turn

    def _read_once(self, key: Hashable, read: Callable[[], T | None]) -> T | None:
        """Return stored data from before this round, read once for all agents of the round."""
        kept, of_round = self.context.kept, (self.context.run, self.round)
        found = kept.get(_ReadInRound)
        if found is None or found.of_round != of_round:
            found = kept.keep(_ReadInRound(of_round))
        if key not in found.values:
            if (value := read()) is None:
                return None
            found.values[key] = value
        return cast("T", found.values[key])

    def example(self, question: str) -> Any:
        """Return an example answer to a question, drawn for this round (see `prompts/templates/examples.yaml`)."""
        return draw_example(question, self.generator(f"example_{question}"), self.language)

    def generator(self, node: str) -> random.Random:
        """Return the random generator for a draw of the agent in this round."""
        return keyed_generator(self.context.seed, round=self.round, agent=self.name, node=node)

    def finding(self, mechanism: str) -> Finding | None:
        """Return the mechanism's last finding; `None` if it was never used."""
        last_used, _ = self.mind["used"].get(mechanism, (0, 0))
        return (
            self.context.store.step(self.context.run, last_used, self.name, mechanism, Finding) if last_used else None
        )

    def done(self) -> list[bool]:
        """Return for each step of the agent's plan whether it is done, as last evaluated."""
        finding = self.finding("goal_summary")
        return list(finding.data["done"]) if finding else [False] * len(self.character.plan)

    def end(self) -> tuple[float, str | None]:
        """Return when the agent's time is over, in seconds since the beginning, and the cause: `end` or `departure`.

        Infinite, and `None`, if neither is known. When both come at once it is the end.
        """
        minutes = self.context.parameters.max_minutes
        end_s = min(self.meeting.offset_s(self.meeting.ends, inf), inf if minutes is None else 60 * minutes)
        leaves_s = self.meeting.offset_s(self.agent.leaves, inf)
        if leaves_s < end_s:
            return leaves_s, "departure"
        return end_s, None if end_s == inf else "end"

    def time_left_s(self) -> float | None:
        """Return the seconds until the agent leaves or the meeting ends; `None` if neither is known."""
        end_s, _ = self.end()
        return None if end_s == inf else max(0.0, end_s - self.sim_time_s)

    def elapsed_share(self) -> float:
        """Return the share of the agent's time in the meeting that is over, in [0, 1]; 0 if no end is known."""
        left_s = self.time_left_s()
        elapsed_s = max(0.0, self.sim_time_s - came_s(self.meeting, self.name))
        return elapsed_s / (elapsed_s + left_s) if left_s is not None and elapsed_s + left_s > 0 else 0.0

    async def ask(
        self,
        node: str,
        question: Question,
        fields: Sequence[ReplyField],
        attempt: int = 0,
        as_self: bool = True,
        no_repeat_from: Sequence[str] = (),
    ) -> Reply:
        """Ask the agent's model and return its answer; agents that ask at the same time share a batch.

        Args:
            attempt: The number of the attempt within the round, for the draws.
            as_self: Whether the prompt shows the agent's profile and situation, or the question alone.
            no_repeat_from: Texts that the answer does not repeat, with models that tend to.
        """
        layout = self.context.layout
        prompt = (
            ask_agent(self.situation(), question, layout) if as_self else ask_anybody(question, layout, self.language)
        )
        return await ask_model(
            self.context, self.round, self.name, node, prompt, fields, attempt, self.part, no_repeat_from
        )


def character_of(context: Context, name: str) -> Character:
    """Return a participant as they are in this run."""
    character = context.store.step(context.run, 0, name, "prepare", Character)
    assert character is not None  # every participant is prepared before the first round
    return character


def last_turn(context: Context, round: int) -> Turn | None:
    """Return the turn before a round, or the opening of the meeting; `None` before anybody has spoken."""
    turns = context.store.turns(context.run, round - 1, round - 1) if round > 1 else []
    return turns[0] if turns else context.meeting.opening_turn
