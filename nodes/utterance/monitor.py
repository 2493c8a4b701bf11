"""The monitor of an utterance: the faults of its drafts, in the names that people have in the prompt."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tertulia.nodes.shared.line_faults import Fault, Lines, faults_of, lines_before
from tertulia.nodes.shared.names_in_text import is_named
from tertulia.prompts.renaming import renaming_of
from tertulia.state.album import Population
from tertulia.state.context import Context
from tertulia.state.graph_state import UtteranceState


@dataclass(frozen=True)
class Monitor:
    """Tells drafts that make sense from those that do not; with `redraws=0` it looks for no faults.

    Attributes:
        speaker: The speaker's name in the prompt.
        own_name: The speaker's name in the scenario.
        people: The names of all participants.
        before: The latest lines before the utterance; `None` with `redraws=0`.
        called: From a text in the names of the prompt to the same in everybody's own.
    """

    speaker: str
    own_name: str
    people: Sequence[str]
    before: Lines | None
    called: Callable[[str], str] = str

    @classmethod
    def of(cls, state: UtteranceState, context: Context) -> "Monitor":
        """Return the monitor of an utterance."""
        shown_name, own_name = context.store.prompt(state["prompt"]).speaker, state["speaker"]
        if not context.parameters.redraws:
            return cls(shown_name, own_name, (), None)
        people, before = _heard(state, context)
        return cls(
            shown_name, own_name, people, before, renaming_of(context.start.names, context.parameters.names).put_back
        )

    def faults(self, text: str) -> tuple[Fault, ...]:
        """Return the faults of a draft."""
        return () if self.before is None else faults_of(self.called(text), self.own_name, self.people, self.before)

    def weight(self, text: str) -> int:
        """Return the number of faults of a draft, and one more if it names its speaker."""
        return is_named(self.speaker, text) + len(self.faults(text))


def _heard(state: UtteranceState, context: Context) -> tuple[Sequence[str], Lines]:
    """Return the listeners of an utterance, and the lines before it; in an album chat those of its exchange."""
    store, run, start, turn = context.store, context.run, context.start, state["turn"]
    if not isinstance(start, Population):
        return start.names, lines_before(store, run, start, turn)
    made = state.get("utterances", {})
    part = next((part for part in ("", "plan") if part in made), None)
    if part is None:  # a plan is said to nobody
        return start.names, []
    chosen = made[part]["chosen"]
    text = next(found.text for found in store.candidates(run, turn, part) if found.attempt == chosen)
    return state["present"], [(state["present"][0], text)]
