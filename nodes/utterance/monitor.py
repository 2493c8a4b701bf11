"""The monitor of an utterance: what is wrong with its drafts, in the names that people have in the prompt."""

from collections.abc import Callable
from dataclasses import dataclass

from tertulia.nodes.meeting.address import is_named
from tertulia.nodes.shared.sense import Fault, faults_of
from tertulia.nodes.shared.situation import Situation, situation_in_exchange, situation_of
from tertulia.prompts.renaming import renaming_of
from tertulia.state.album import Population
from tertulia.state.context import Context
from tertulia.state.graph_state import UtteranceState
from tertulia.state.records import Prompt


@dataclass(frozen=True)
class Monitor:
    """Tells drafts that make sense from those that do not; without a situation nothing but self-naming is a fault.

    Attributes:
        speaker: The speaker's name in the prompt.
        situation: What is known where the utterance is said; `None` where nothing is looked at (`redraws=0`).
        called: From a text in the names of the prompt to the same in everybody's own.
    """

    speaker: str
    situation: Situation | None
    called: Callable[[str], str] = str

    @classmethod
    def of(cls, state: UtteranceState, context: Context) -> "Monitor":
        """Return the monitor of an utterance."""
        prompt = context.store.prompt(state["prompt"])
        if not context.parameters.redraws:
            return cls(prompt.speaker, None)
        renaming = renaming_of(context.start.names, context.parameters.names)
        return cls(prompt.speaker, _situation(state, context, prompt), renaming.put_back)

    def faults(self, text: str) -> tuple[Fault, ...]:
        """Return what is wrong with a draft."""
        return () if self.situation is None else faults_of(self.called(text), self.situation)

    def weight(self, text: str) -> int:
        """Return how much is wrong with a draft; where nothing is looked at, whether it names its speaker."""
        return is_named(self.speaker, text) if self.situation is None else len(self.faults(text))


def _situation(state: UtteranceState, context: Context, prompt: Prompt) -> Situation:
    store, run, start, turn = context.store, context.run, context.start, state["turn"]
    knows_all = context.parameters.sense_knows == "all"
    if knows_all and isinstance(start, Population):
        said = {
            part: next(found.text for found in store.candidates(run, turn, part) if found.attempt == made["chosen"])
            for part, made in state.get("utterances", {}).items()
        }
        return situation_in_exchange(start, state["present"], said, prompt)
    return situation_of(store, run, start, state["speaker"], turn, state["sim_time_s"], prompt, knows_all)
