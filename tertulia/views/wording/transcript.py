"""A run as a Markdown document that text from a model can't break.

1. Text from a model is one line after words of the program, with its punctuation escaped: it can begin no block, close
   no emphasis, and open no HTML.
2. Words that a reader of Markdown might turn into a link are shown as code.
"""

import json
import re
from collections.abc import Iterator, Sequence

from tertulia.state.album import PARTS, Population, Villager
from tertulia.state.meeting import AttendanceChange, Attendee, Meeting, Start
from tertulia.state.records import Participant, RunRecord, Turn, status_in_words
from tertulia.state.spoken import parts_of
from tertulia.state.store import Store
from tertulia.state.text import clean, in_words, number
from tertulia.views.reading.actions import shown_turns
from tertulia.views.reading.exchanges import by_round, read_exchanges
from tertulia.views.reading.removal import retained
from tertulia.views.reading.rounds import AgentRound
from tertulia.views.reading.shared_turns import settings_of_turns
from tertulia.views.reading.timeline import attendance_changes, changes_before, turns_with_opening
from tertulia.views.reading.turns import LineDetails, TurnDetails, read_turn
from tertulia.views.reading.why import why_said, why_turn
from tertulia.views.wording.album_phrases import outcome_phrases, pair_phrase
from tertulia.views.wording.phrases import attendance, clock, people_line, picture_phrase, settings, silence, stay

#: Characters of a removed unit that are shown.
_SHOWN = 200

_MARKUP = re.compile(r"[\\`*_{}\[\]<>&~^|$#]")

#: Addresses, with or without a scheme, that many readers of Markdown turn into links even if escaped.
_LINK = re.compile(r"://|www\.|@|(?:mailto|xmpp|tel):|\w\.[^\W\d_]{2}", re.IGNORECASE)


def escaped(text: str) -> str:
    """Return text of any origin as one line of Markdown that shows this text."""
    return " ".join(
        _as_code(word) if _LINK.search(word) else _MARKUP.sub(r"\\\g<0>", word) for word in clean(text).split()
    )


def _as_code(word: str) -> str:
    longest = max((len(ticks) for ticks in re.findall(r"`+", word)), default=0)
    fence, space = "`" * (longest + 1), " " if word[0] == "`" or word[-1] == "`" else ""
    return f"{fence}{space}{word}{space}{fence}"


def transcript(store: Store, run: RunRecord, start: Start, thoughts: bool) -> Iterator[str]:
    """Yield the lines of a transcript, with thoughts, bids and removed units under every turn if wanted."""
    yield from _heading(run, start)
    yield from ("## The conversation", "")
    settings_of = settings_of_turns(store, run)
    if isinstance(start, Population):
        yield from _exchanges(store, run, start, thoughts)
        yield from _settings(run)
        return
    turns = shown_turns(store, run, turns_with_opening(store, run.run, start))
    for turn, changes in zip(turns, changes_before(turns, attendance_changes(start, turns)), strict=True):
        for change in changes:
            yield from (_attendance_change(change, start), "")
        yield from (_utterance(turn, start, settings_of(turn.turn).silence_s), "")
        if thoughts and turn.turn:
            lines = list(_behind(read_turn(store, run, start, turn.turn)))
            yield from lines
            yield from [""] if lines else []
    if not any(turn.turn for turn in turns):
        yield from ("Nothing was said yet.", "")
    yield from _settings(run)


def _exchanges(store: Store, run: RunRecord, population: Population, thoughts: bool) -> Iterator[str]:
    """Yield the exchanges of an album chat by round: the asker, the asked, the picture, and the words said."""
    exchanges = read_exchanges(store, run.run, population)
    for round, of_round in by_round(exchanges):
        yield from (f"### Round {round}", "")
        for recorded in of_round:
            exchange = recorded.exchange
            picture = escaped(picture_phrase(recorded.picture, exchange.sight))
            yield from (f"{recorded.turn.turn}. {escaped(pair_phrase(recorded))} {picture}", "")
            yield f"   - *plan:* {escaped(recorded.plan)}"
            yield f"   - **{escaped(exchange.asker)}:** {escaped(recorded.turn.text)}"
            yield f"   - **{escaped(exchange.answerer)}:** {escaped(recorded.answer.text)}"
            yield from (f"   - {escaped(phrase)}" for phrase in outcome_phrases(recorded, population))
            if thoughts:
                details = read_turn(store, run, population, recorded.turn.turn)
                for call, part in PARTS.items():
                    behind = list(_behind(details.parts[part] if part else details))
                    yield from (f"   {line}" for line in ([f"- Behind the {call}:"] if behind else []))
                    yield from (f"     {line}" for line in behind)
            yield ""
    if not exchanges:
        yield from ("Nobody has met yet.", "")


def _heading(run: RunRecord, start: Start) -> Iterator[str]:
    """Yield title, time, place, participants, and how the run was made."""
    title, description, until = people_line(start), None, ""
    if isinstance(start, Population):
        title = start.title
    elif isinstance(start, Meeting):
        title, description = start.title, start.description
        until = f" to {start.ends:%H:%M}" if start.ends else ""
    place = f", {escaped(start.place)}" if start.place else ""
    yield from (f"# {escaped(title)}", "", f"{start.time:%A %d %B %Y, %H:%M}{until}{place}", "")
    if description is not None:
        yield from (f"**What it is about:** {escaped(description)}", "")
    yield from (_person(participant) for participant in _people(start))
    yield ""
    if run.rehearsed:
        which = "" if run.is_rehearsal else " in part"
        yield from (f"> **Rehearsed{which}:** a stand-in without weights spoke here, not a language model.", "")
    yield from (f"**Made with** {escaped(', '.join(settings(run)))}", "")
    state = status_in_words(run.status, run.ended_by) + (f": {escaped(run.error)}" if run.error else "")
    yield from (f"**{'At' if run.status == 'finished' else 'Not at'} its end:** the run is {state}", "")


def _people(start: Start) -> Sequence[Participant]:
    if isinstance(start, Population):
        return start.villagers
    return start.participants if isinstance(start, Meeting) else (start.initiator, start.partner)


def _person(participant: Participant) -> str:
    persona = participant.persona
    properties = participant.properties if isinstance(participant, Villager) else ()
    known = [
        *(f"{name}: {value}" for name, value in properties),
        *([str(persona.age)] if persona.age is not None else []),
        *([persona.occupation] if persona.occupation else []),
        *([persona.character] if persona.character else participant.big_five),
        *(stay(participant) if isinstance(participant, Attendee) else []),
    ]
    who = f"- **{escaped(persona.name)}**{''.join(f', {escaped(what)}' for what in known)}"
    return f"{who}: {escaped(persona.known_background)}" if persona.known_background else who


def _utterance(turn: Turn, start: Start, silence_s: float) -> str:
    when = _clock(turn.sim_time_s, start)
    if turn.speaker is None:
        return f"{when} *{silence(silence_s)}*"
    return f"{when} **{escaped(turn.speaker)}:** {_spoken(turn.text)}{' ∎' if turn.ended else ''}"


def _spoken(line: str) -> str:
    """Return a line, its actions in italics."""
    shown = ""
    for part in parts_of(clean(line)):
        text = escaped(part.inner)
        before, behind = (" " if sign.isspace() else "" for sign in (part.text[0], part.text[-1]))
        shown += f"{before}{text}{behind if text else ''}" if part.kind == "words" else f"*{text}*"
    return shown.strip()


def _attendance_change(change: AttendanceChange, start: Start) -> str:
    return f"{_clock(change.sim_time_s, start)} {escaped(attendance(change))}"


def _clock(sim_time_s: float, start: Start) -> str:
    return f"`{clock(sim_time_s, start).split()[0]}`"


def _behind(details: LineDetails) -> Iterator[str]:
    """Yield the making of an utterance: why, thoughts and bids, removed units, and candidates set aside."""
    run, record = details.run, details.record
    is_exchange = isinstance(details, TurnDetails) and details.exchange is not None
    yield f"- Why: {escaped(why_said(details) if is_exchange else why_turn(details))}"
    if isinstance(details, TurnDetails) and details.round is not None:
        yield from map(_thought, details.round.agents)
    if details.prompt is not None and details.removed:
        units = [unit for unit in details.prompt.units if unit.id in details.removed and unit.kind == "item"]
        kept = retained(run)
        why = f", all but {kept}" if kept else f" at λ = {details.removal_factor:.3g}"
        yield f"- Removed from the prompt{why}:"
        for unit in units:
            text = clean(unit.text).removeprefix("- ")
            shown = f"{text[:_SHOWN]}…" if len(text) > _SHOWN else text
            yield f"  - {in_words(unit.block)}: {escaped(shown)}"
    for candidate in details.candidates:
        if candidate.attempt != record.chosen and candidate.inconsistency is not None:
            comment = f" ({escaped(candidate.comment)})" if candidate.comment else ""
            what = "Rewritten, and set aside" if candidate.origin == "rewritten" else "Set aside"
            yield f"- {what}, inconsistency {number(candidate.inconsistency, 2)}: {escaped(candidate.text)}{comment}"


def _thought(agent: AgentRound) -> str:
    bid = agent.bid
    figures = [f"willingness {bid.willingness:.2f}"] if bid and bid.willingness is not None else []
    figures += [f"{bid.latency_s:.2f} s"] if bid and bid.latency_s is not None else []
    figures += [", ".join(map(in_words, agent.active))] if agent.active else []
    mark = "→ " if agent.won else ""
    thought = escaped(agent.assessment.thought) if agent.assessment and agent.assessment.thought else "–"
    if agent.typed is not None:
        thought = f"typed: {escaped(agent.typed)}" if agent.typed else "stayed silent"
    return f"- {mark}**{escaped(agent.agent)}** ({escaped('; '.join(figures) or 'no bid')}): {thought}"


def _settings(run: RunRecord) -> Iterator[str]:
    yield from ("## What it was made with", "")
    known: dict[str, object] = {"run": run.run, "scenario": run.scenario}
    if run.parent:
        known["forked from"] = f"{run.parent[0]} at turn {run.parent[1]}"
    known["model"] = run.model
    known |= {f"model of {name}": participant.model for name, participant in run.participant_models.items()}
    for name, value in (known | {"embedder": run.embedder, "seed": run.seed} | run.parameters).items():
        yield f"- {escaped(in_words(name))}: {escaped(value if isinstance(value, str) else json.dumps(value))}"
