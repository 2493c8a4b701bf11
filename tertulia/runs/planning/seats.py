"""The seats of people in a conversation: the participants that they speak for."""

import shlex
from collections.abc import Iterable

from tertulia.state.album import Population
from tertulia.state.errors import NotFoundError, SettingError, UsageError, nearest_hint
from tertulia.state.meeting import Meeting, Start
from tertulia.state.names import composed, is_same_name
from tertulia.state.parameters import Parameters
from tertulia.state.records import RunRecord
from tertulia.state.seat import is_seat_of


def with_seat(parameters: Parameters, seat: str | None, start: Start) -> Parameters:
    """Return the parameters with the given seats, or their own, under their names in the scenario.

    Args:
        seat: A name, or a first name that only one participant has; or several, with commas between them.

    Raises:
        NotFoundError: Nobody of that name takes part, or several do.
        UsageError: Two seats are for one person.
    """
    given = seat if seat is not None else parameters.seat
    if given is None:
        return parameters
    if any(_is_same(name, given) for name in start.names):  # it may have a comma of its own
        found = [_found(given, start)]
    else:
        found = [_found(part, start) for part in given.split(",")]
    if twice := next((name for name in found if found.count(name) > 1), None):
        raise SettingError("seat", repr(given), f": {twice} has one seat, for one person; name each once")
    return parameters.model_copy(update={"seat": ", ".join(found)})


def _found(given: str, start: Start) -> str:
    """Return the name of the only participant with this name or first name, or raise `NotFoundError`."""
    by_name = [name for name in start.names if _is_same(name, given)]
    by_first_name = [name for name in start.names if _is_same(name.split()[0], given)]
    for found in (by_name, by_first_name):
        if len(found) == 1:
            return found[0]
    who = "several take part who are" if by_first_name else "nobody takes part who is"
    raise NotFoundError(f"{who} called {given!r}, for the seat{nearest_hint(given, start.names)}")


def seated(start: Start, seat: str | None) -> list[str]:
    """Return the participants for whom people speak, in the scenario's order."""
    return [name for name in start.names if is_seat_of(name, seat)]


def check_is_there(seat: str, start: Start, sim_time_s: float) -> None:
    """Raise `SettingError` for the seat of a participant that has left a meeting by `sim_time_s`."""
    if not isinstance(start, Meeting):
        return
    for name in seated(start, seat):
        leaves = start.participant(name).leaves
        if leaves is not None and start.offset_s(leaves, 0.0) <= sim_time_s:
            raise SettingError("seat", name, f": they have left by then, at {leaves:%H:%M}; fork earlier")


def check_seat(seat: str | None, run: RunRecord) -> None:
    """Raise `UsageError` for another seat than the run's, with which its turns were made."""
    current = run.parameters.get("seat")
    if seat is None or (current is not None and _names(str(current)) == _names(seat)):
        return
    state = "has no seat for a person" if current is None else f"has the seat of {current}"
    raise UsageError(
        f"--seat {shlex.quote(seat)}: run {run.run} {state}; to go on with another one, fork it: "
        f"tertulia fork {run.run} --at {run.turns + 1} --seat {shlex.quote(seat)}"
    )


def role_of(name: str, start: Start) -> list[str]:
    """Return a few lines about a participant: the situation, their persona, their partners and their goals."""
    participant = start.participant(name)
    partners = ", ".join(partner for partner in start.names if partner != name)
    lines = [f"You are {name}, with {partners}."]
    persona = participant.persona
    traits = persona.character or ", ".join(participant.big_five)
    age = [str(persona.age)] if persona.age is not None else []
    about = [*age, persona.occupation, *persona.background, traits, persona.lifestyle, persona.home]
    about += [participant.activity, participant.setting]
    return [
        *([] if isinstance(start, Population) or not start.description else [start.description]),
        *lines,
        *_sentence("About you", about),
        *_sentence("How you speak", [persona.style]),
        *(f"You have said: {example.text}" for example in persona.examples),
        *_sentence("You care about", participant.interests),
        *_sentence("You tell nobody", participant.secrets),
        *_sentence("You want", [goal.text for goal in participant.goals]),
        *(line for partner, relation in participant.relations for line in _sentence(partner, [relation])),
    ]


def _sentence(lead: str, texts: Iterable[str | None]) -> list[str]:
    joined = "; ".join(text.strip().rstrip(".") for text in texts if text)
    return [f"{lead}: {joined}{'' if joined.endswith(('。', '！', '？', '!', '?', '…')) else '.'}"] if joined else []


def _names(seat: str) -> set[str]:
    return {composed(part.strip()).casefold() for part in seat.split(",")}


def _is_same(name: str, typed: str) -> bool:
    return is_same_name(name, typed.strip())
