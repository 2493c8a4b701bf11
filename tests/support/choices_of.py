"""A model's probabilities of options after a single line, said to somebody in a made-up meeting."""

from collections.abc import Sequence
from datetime import datetime

from tertulia.nodes.meeting.choices import log_ratios_of
from tertulia.prompts.choices import assemble_choice, assemble_neutral
from tertulia.prompts.cognition import AgentSituation
from tertulia.prompts.templates import template
from tertulia.state.cognition import Character
from tertulia.state.language_model import LanguageModel
from tertulia.state.meeting import Attendee, Meeting
from tertulia.state.records import Persona, Turn


def situation(line: str) -> AgentSituation:
    """Return the situation of somebody who has heard a single line."""
    people = [
        Attendee(persona=Persona(name=name, background=f"{name} keeps a boat."), memories=())
        for name in ("Ana", "Bo", "Cy")
    ]
    now = datetime(2026, 5, 6, 15)
    meeting = Meeting(
        scenario="quay", title="The quay", description="Boat owners meet.", time=now, participants=tuple(people),
        mechanisms=(),
    )  # fmt: skip
    character = Character(big_five=(), descriptions=(), plan=())
    turn = Turn(turn=1, round=1, speaker="Bo", text=line, sim_time_s=0, ended=False)
    return AgentSituation(meeting, people[0], character, now, meeting.names, "calm", 0.5, (turn,), False)


async def ratios(model: LanguageModel, line: str, entry: str, options: Sequence[str]) -> list[float]:
    """Return how much likelier each option is after a line than after lines without content, as logarithms."""
    moment, ask = situation(line), template("choices").fill(f"{entry}.ask", {"name": "Ana"})
    neutral = [await model.probabilities(prompt, options) for prompt in assemble_neutral(moment, ask, model.tokenizer)]
    found = await model.probabilities(assemble_choice(moment, ask, model.tokenizer), options)
    return log_ratios_of(found, neutral)
