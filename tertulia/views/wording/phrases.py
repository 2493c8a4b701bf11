"""Runs, turns, silences and figures put in words, as plain text for any reader: a terminal, a document, a page."""

from collections.abc import Iterable, Mapping
from datetime import timedelta

from tertulia.state.album import Picture, Population
from tertulia.state.meeting import AttendanceChange, Attendee, Meeting, Start
from tertulia.state.records import Candidate, EndedBy, RunRecord, order_of
from tertulia.state.text import beside, clean, counted, in_words, number
from tertulia.views.reading.removal import retained
from tertulia.views.reading.turns import LineDetails, parameters_of_speaker

_NUMERALS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


#: Why a run or a simulation is over, or was left, as a clause.
ENDINGS: Mapping[EndedBy, str] = {
    "said goodbye": "they said goodbye",
    "repetition": "its last lines only repeated earlier ones",
    "schedule": "its scheduled time is over",
    "nobody left": "fewer than two people stay",
    "days": "its last day is over",
    "rounds": "it was to have no more rounds",
    "minutes": "its simulated minutes are over",
    "budget": "its budget is spent",
    "stopped": "it was stopped",
    "left by a person": "a person left their seat",
}


# --- notes ----------------------------------------------------------------------------------------------------------


def grouped(notes: Iterable[str], names: Iterable[str]) -> list[str]:
    """Return notes `what of NAME: why` without repetition; notes that differ only in the name are joined."""
    people: dict[tuple[str, str], list[str]] = {}
    names = list(names)
    for note in dict.fromkeys(notes):
        what, _, why = note.partition(": ")
        name = next((name for name in names if what.endswith(f" of {name}")), None)
        known = people.setdefault((what.removesuffix(f" of {name}"), why), [])
        known += [name] if name else []
    return [
        f"{what}{' of ' + ', '.join(who) if who else ''}{': ' + why if why else ''}"
        for (what, why), who in people.items()
    ]


# --- candidates -------------------------------------------------------------------------------------------------------


def judged_in_words(candidate: Candidate, details: LineDetails) -> str:
    """Return the figure that a judge gave a candidate, not rounded to the threshold, and those of several runs."""
    runs = ", ".join(number(value, 2) for value in candidate.inconsistency_runs)
    figure = beside(candidate.inconsistency, parameters_of_speaker(details).inconsistency_threshold, 3)
    return f"{figure} ({runs})" if len(candidate.inconsistency_runs) > 1 else figure


# --- runs -----------------------------------------------------------------------------------------------------------


def settings(run: RunRecord) -> list[str]:
    """Return phrases for order or setting, λ (or the share that remains), α, model, seed and seat of a run."""
    order = order_of(run)
    kept = retained(run)
    strength = run.parameters.get("context_strength")
    seat = run.parameters.get("seat")
    return [
        *([in_words(order)] if order else []),
        *([f"{run.parameters.get('setting')} setting"] if run.kind == "album_chat" else []),
        f"retained: {kept}" if kept else asked_diversity(run) or f"λ = {run.parameters.get('removal_factor'):g}",
        *([f"α = {strength:g}"] if strength else []),
        run.model,
        f"seed {run.seed}",
        *([f"a person as {seat}"] if seat else []),
    ]


#: What is said of words and figures that no model made.
REHEARSED = "rehearsed: a stand-in speaks, not a model"


def made_with(run: RunRecord) -> list[str]:
    """Return the phrases of `settings`, and whether the run is rehearsed."""
    mark = "rehearsed" if run.is_rehearsal else "rehearsed in part"
    return [*settings(run), *([mark] if run.rehearsed else [])]


def rehearsal_in_words(run: RunRecord) -> list[str]:
    """Return what is said of a run whose words no model made, or some of them; nothing if a model made all."""
    in_part = "rehearsed in part: a stand-in speaks in turns before the fork, not a model"
    return [REHEARSED if run.is_rehearsal else in_part] if run.rehearsed else []


def asked_diversity(run: RunRecord) -> str | None:
    """Return the diversity to which λ is steered, in words; `None` if it is not steered."""
    asked, setpoint = run.parameters.get("diversity"), run.parameters.get("setpoint")
    if asked is None or not isinstance(setpoint, dict):
        return None
    begins = run.parameters["removal_factor"]
    return f"λ from {begins:.2f}, steered to {setpoint['metric']} = {asked:.3g}"


def people_line(start: Start) -> str:
    """Return the participants in words, with the times at which they come and go."""
    if isinstance(start, Population):
        return counted(len(start.villagers), "villager")
    if isinstance(start, Meeting):
        return ", ".join(f"{attendee.persona.name}{_stay(attendee)}" for attendee in start.participants)
    return " and ".join(start.names)


def stay(attendee: Attendee) -> list[str]:
    """Return phrases for the times at which an attendee comes and goes; none for the whole meeting."""
    joins = [f"from {attendee.joins:%H:%M}"] if attendee.joins else []
    leaves = [f"until {attendee.leaves:%H:%M}"] if attendee.leaves else []
    return joins + leaves


def _stay(attendee: Attendee) -> str:
    phrases = stay(attendee)
    return f" ({' '.join(phrases)})" if phrases else ""


def meeting_line(meeting: Meeting | Population) -> str:
    """Return title, time and place."""
    until = f" to {meeting.ends:%H:%M}" if isinstance(meeting, Meeting) and meeting.ends else ""
    place = f", {meeting.place}" if meeting.place else ""
    return f"{meeting.title}, {meeting.time:%A %d %B %Y, %H:%M}{until}{place}"


def picture_phrase(picture: Picture, sight: str | None = None) -> str:
    """Return a picture as text: caption, variant, size, colours, and whether it was seen."""
    known = [picture.caption, *([picture.variant] if picture.variant else [])]
    if picture.file is not None:
        known.append(f"{picture.file.width}×{picture.file.height}")
        *others, last = picture.file.colours or ("",)
        known += [f"{', '.join(others)} and {last}" if others else last] if last else []
    return f"[picture: {', '.join(known)}{f'; {sight}' if sight else ''}]"


# --- turns ----------------------------------------------------------------------------------------------------------


def clock(sim_time_s: float, start: Start) -> str:
    """Return minutes and seconds since the start, in a group chat after the time of day."""
    minutes, seconds = divmod(int(sim_time_s), 60)
    if isinstance(start, Meeting):
        return f"{start.time + timedelta(seconds=sim_time_s):%H:%M:%S}  {minutes:>2}:{seconds:02d}"
    return f"{minutes:02d}:{seconds:02d}"


def attendance(change: AttendanceChange) -> str:
    """Return in words that a person comes or leaves, and why they leave."""
    reason = f": {clean(change.reason)}" if change.reason else ""
    return f"{clean(change.agent)} {'joins' if change.joined else 'leaves'}{reason}"


def silence(silence_s: float | None) -> str:
    """Return a recorded silence in words, with its length if that is known."""
    if silence_s is None:
        return "… silence"
    is_short = silence_s.is_integer() and silence_s < len(_NUMERALS)
    return f"… {_NUMERALS[int(silence_s)] if is_short else f'{silence_s:g}'} seconds of silence"
