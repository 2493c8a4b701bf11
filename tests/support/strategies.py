"""Records as hypothesis draws them, for tests that write and read them again."""

from datetime import timedelta, timezone

from hypothesis import settings
from hypothesis import strategies as st

from tertulia.state.meeting import Attendee, Meeting
from tertulia.state.person import Goal
from tertulia.state.records import (
    Candidate,
    Case,
    Dialogue,
    Extension,
    Memory,
    Participant,
    ParticipantModel,
    Persona,
    Prompt,
    Reply,
    RunRecord,
    Turn,
    TurnRecord,
    Unit,
    Utterance,
)

#: Every example is an empty store; `make fuzz` tries more of them.
few = settings(max_examples=2000 if settings.get_current_profile_name() == "full" else 20, deadline=None)

texts = (
    st.text(max_size=40)
    | st.text(st.characters(), max_size=5)
    | st.sampled_from(["\ud800", "a\x00b", "'; --", "\x1b[2J"])
)
names = st.text(st.characters(), min_size=1, max_size=8)
floats = st.floats(allow_nan=False)
counts = st.integers(0, 2**40)
zones = st.none() | st.integers(-720, 720).map(lambda minutes: timezone(timedelta(minutes=minutes)))
times = st.datetimes(timezones=zones)


personas = st.builds(
    Persona, name=st.text(min_size=1, max_size=8), age=st.none() | st.integers(0, 120), character=st.none() | texts
)
memories = st.builds(
    Memory, id=names, kind=st.sampled_from(["event", "thought", "chat"]), text=texts, created=times,
    importance=st.floats(0, 10),
)  # fmt: skip
participants = st.builds(Participant, persona=personas, memories=st.lists(memories, max_size=2).map(tuple))
utterances = st.builds(Utterance, speaker=names, text=texts)
dialogues = st.builds(Dialogue, time=times, utterances=st.lists(utterances, max_size=2).map(tuple))
cases = st.builds(
    Case, scenario=texts, time=times, place=st.none() | texts, initiator=participants, partner=participants,
    previous_dialogues=st.lists(dialogues, max_size=2).map(tuple), withheld=st.lists(texts, max_size=2).map(tuple),
)  # fmt: skip
attendees = st.builds(
    Attendee, persona=personas, memories=st.lists(memories, max_size=1).map(tuple), joins=st.none() | times,
    goals=st.lists(st.builds(Goal, text=st.text(min_size=1, max_size=8)), max_size=2).map(tuple),
    relations=st.lists(st.tuples(names, texts), max_size=2).map(tuple), propensity=st.none() | st.floats(0, 1),
    latency=st.sampled_from([None, "cautious"]) | st.tuples(floats, floats), model=st.none() | texts,
)  # fmt: skip
meetings = st.builds(
    Meeting, scenario=texts, title=texts, description=texts, time=times, ends=st.none() | times,
    place=st.none() | texts, opening=st.none() | utterances, mechanisms=st.lists(names, max_size=3).map(tuple),
    participants=st.lists(attendees, min_size=2, max_size=3).map(tuple),
)  # fmt: skip
units = st.builds(
    Unit, id=names, block=names, kind=st.sampled_from(["item", "text"]), text=texts, removable=st.booleans(),
    speaker=st.none() | texts,
)  # fmt: skip
prompts = st.builds(Prompt, units=st.lists(units, max_size=6).map(tuple), speaker=names, layout=texts)
replies = st.builds(
    Reply, text=texts, tokens=st.lists(counts, max_size=5).map(tuple), text_tokens=st.tuples(counts, counts),
    fields=st.dictionaries(names, texts | st.booleans() | st.integers(), max_size=3),
    information=st.none() | st.floats(0, 1e3),
)  # fmt: skip
candidates = st.builds(
    Candidate, attempt=st.integers(0, 20), text=texts, reply=replies, inconsistency=st.none() | floats,
    inconsistency_runs=st.lists(floats, max_size=3).map(tuple), comment=st.none() | texts,
)  # fmt: skip
turns = st.builds(
    Turn, turn=st.just(1), round=st.integers(1, 99), speaker=st.none() | texts, text=texts,
    sim_time_s=st.floats(0, 1e9), ended=st.booleans(),
)  # fmt: skip
turn_records = st.builds(
    TurnRecord, turn=turns, prompt=st.none() | texts, scores=st.none() | st.dictionaries(names, floats, max_size=5),
    removed=st.lists(names, max_size=5, unique=True).map(tuple), chosen=counts, rollbacks=counts,
    scored_by=st.none() | texts, judged_by=st.none() | texts,
)  # fmt: skip
json_values = st.none() | st.booleans() | st.integers() | floats | texts | st.lists(st.integers(), max_size=3)
extensions = st.builds(Extension, source=texts, hash=texts)
ids = st.from_regex(r"[a-zA-Z0-9_][a-zA-Z0-9_-]{0,63}", fullmatch=True)
#: Of a fork, the turns that it has in common with its parent are its first ones.
runs = st.builds(
    RunRecord, run=ids, status=st.sampled_from(["running", "interrupted", "failed", "finished"]), scenario=texts,
    kind=st.sampled_from(["dialogue", "group_chat"]),
    model=texts, embedder=texts, rehearsed=st.booleans(), seed=st.integers(), error=st.none() | texts, created=times,
    parameters=st.fixed_dictionaries(
        {"removal_factor": st.floats(0, 1)},
        optional={"max_turns": st.integers(1, 99), "record_scores": st.booleans(), "temperature": st.floats(0.1, 5)},
    ),
    participant_models=st.dictionaries(
        names,
        st.builds(ParticipantModel, model=texts, parameters=st.dictionaries(names, json_values, max_size=2)),
        max_size=2,
    ),
    extensions=st.lists(extensions, max_size=2).map(tuple), rewritten=st.booleans(),
    parent=st.none() | st.tuples(ids, st.integers(1, 99)),
).map(lambda run: run if run.parent is None else run.model_copy(update={"turns": run.parent[1] - 1}))  # fmt: skip
