"""A meeting of four people as a run leaves it in a store: silences, a tie, a line that passed somebody by, a latecomer.

| round | who speaks | what is special |
|---|---|---|
| 1 | Ada | |
| 2 | Ben | he names Cleo; Ada does not notice it, and wanted to speak herself |
| 3 | – | nobody is willing |
| 4 | Cleo | a tie with Ada |
| 5 | Dev | he has just come |
| 6 | – | Ada is willing, but too slow |
| 7 | Ada | she did not get the floor before, goes on with her thought; a mechanism failed; Ben has left |
| 8 | – | thought of, but never ended: the process died |
"""

from datetime import datetime, timedelta
from typing import NamedTuple

from support.stored import NOW, STEPS, a_candidate

from tertulia.state.cognition import (
    Assessment,
    Bid,
    Call,
    Character,
    Finding,
    Floor,
    InformationNeed,
    MechanismChoice,
    Perception,
    SubGoal,
    WillingnessParts,
)
from tertulia.state.meeting import Attendee, Meeting
from tertulia.state.parameters import GROUP_CHAT, Parameters
from tertulia.state.person import Goal
from tertulia.state.records import Persona, Prompt, Reply, RunRecord, Turn, TurnRecord, Unit, Utterance
from tertulia.state.store import Store
from tertulia.storage.parts.search import search
from tertulia.storage.store import SqlStore

NAMES = ("Ada", "Ben", "Cleo", "Dev")
BEGIN = datetime(2025, 6, 12, 14, 59, 40)
MECHANISMS = ("memory_retrieval", "time_analysis", "mention_response")
TRAITS = ("extroverted", "agreeable", "conscientious", "emotionally stable", "open")
#: Rounds that ended in a turn.
ROUNDS = 7
SILENCE_S = 10.0

#: Parts of willingness of who is willing (W = 0.65), and of who is not (W = 0.25), at weights of 0.25.
KEEN = WillingnessParts(topic=0.6, goal=0.7, emotion=0.5, personality=0.8)
COOL = WillingnessParts(topic=0.2, goal=0.4, emotion=0.1, personality=0.3)


class Script(NamedTuple):
    """A round: who (by place in NAMES) says what, and the latencies of who was willing."""

    speaker: int | None
    text: str
    latencies: dict[int, float]
    looks: int = 1
    tied: tuple[int, ...] = ()


SCRIPT = (
    Script(0, "Shall we look for a place for the summer day?", {0: 2.4}),
    Script(1, "Cleo, do you still have the list of last year?", {1: 3.1, 0: 5.25}),
    Script(None, "", {}, looks=7),
    Script(2, "I have it here. The lake was the favourite.", {0: 3.58, 2: 3.5}, tied=(0, 2)),
    Script(3, "Sorry that I am late. The lake again?", {3: 1.5, 1: 4.0}),
    Script(None, "", {0: 11.3}),
    Script(0, "Then let us settle on the lake, on the 20th.", {0: 1.26}),
    Script(2, "", {2: 2.0}),
)


def a_meeting(names: tuple[str, ...] = NAMES) -> Meeting:
    ada, ben, cleo, dev = names
    people = (
        Attendee(
            persona=Persona(name=ada, background=("plans the summer day",)),
            memories=(),
            goals=(Goal(text="settle where and when"),),
            setting="wants a decision today",
            latency="proactive",
        ),
        Attendee(
            persona=Persona(name=ben),
            memories=(),
            leaves=BEGIN + timedelta(seconds=40),
            leaves_for="a call at half past",
        ),
        Attendee(persona=Persona(name=cleo), memories=(), latency=(4.5, 2.6), big_five=("introverted",)),
        Attendee(persona=Persona(name=dev), memories=(), joins=BEGIN + timedelta(seconds=30)),
    )
    return Meeting(
        scenario="summer_day",
        title="The summer day",
        description="Four colleagues look for a place and a date.",
        time=BEGIN,
        ends=BEGIN + timedelta(minutes=30),
        place="the small meeting room",
        opening=Utterance(speaker=ada, text="Good that you are here."),
        participants=people,
        mechanisms=MECHANISMS,
    )


def a_group_run(run: str = "m33t", **changes: object) -> RunRecord:
    parameters = Parameters().with_settings({**GROUP_CHAT, "removal_factor": 0.5}).model_dump(mode="json")
    known = {
        "run": run,
        "status": "running",
        "kind": "group_chat",
        "scenario": "summer_day",
        "model": "m",
        "embedder": "e",
    }
    return RunRecord.model_validate(
        {**known, "rehearsed": False, "seed": 7, "parameters": parameters, "created": NOW} | changes
    )


def write_meeting(store: Store, run: str = "m33t", names: tuple[str, ...] = NAMES) -> None:
    """Store the run with everything that it left."""
    meeting = a_meeting(names)
    store.create_run(a_group_run(run), meeting)
    for name in names:
        plan = (SubGoal(goal=0, text="ask for places", share=1.0),) if meeting.participant(name).goals else ()
        store.save_step(
            run, 0, name, "prepare", Character(big_five=TRAITS, descriptions=(f"{name} talks.",), plan=plan)
        )
    store.save_calls(run, [_call(store, 0, names[0], "plan", "ask for places")])
    now_s = 0.0
    for round, script in enumerate(SCRIPT, start=1):
        now_s = _write_round(store, run, meeting, round, script, now_s)


def read_all(store: SqlStore, run: str) -> list[object]:
    """Everything that a store gives out about a run."""
    turns = store.turns(run)
    return [
        *(store.run(run), store.runs(), store.start(run), turns, store.calls(run), store.trace(run, 1)),
        *([store.turn_record(run, turn.turn), store.candidates(run, turn.turn)] for turn in turns),
        *(store.steps(run, node, kind) for node, kind in STEPS.items()),
        *(store.prompt(call.prompt) for call in store.calls(run)),
        search(store.file, "the", run),
    ]


def _write_round(store: Store, run: str, meeting: Meeting, round: int, script: Script, start_s: float) -> float:
    """Store a round; return when it ended, in simulated seconds."""
    calls = []
    for at, name in enumerate(meeting.names):
        if name not in meeting.present(start_s):
            continue
        _write_need(store, run, round, at, name)
        thought = f"{name} thinks number {round}."
        store.save_step(
            run,
            round,
            name,
            "assess",
            Assessment(
                situation="They look for a place.", thought=thought, emotion="eager", emotion_strength=0.5, done=()
            ),
        )
        calls.append(_call(store, round, name, "assess", thought))
        store.save_step(run, round, name, "bid", _bid(round, at, script))
    store.save_calls(run, calls)
    if round > ROUNDS:
        return start_s
    waited_s = None if script.speaker is None else script.latencies[script.speaker]
    tied = tuple(meeting.names[at] for at in script.tied)
    store.save_step(
        run, round, "", "floor", Floor(order="self_driven", waited_s=waited_s, looks=script.looks, tied=tied)
    )
    first_word_s = start_s + (waited_s or 0.0)
    store.save_turn(run, _turn(store, run, meeting, round, script, first_word_s))
    return first_word_s + (SILENCE_S if script.speaker is None else len(script.text.split()) / 150 * 60)


def _write_need(store: Store, run: str, round: int, at: int, name: str) -> None:
    """Store what somebody perceives, which mechanisms they choose, and what those find."""
    passed_by, failed = (round, at) == (3, 0), (round, at) == (7, 0)
    named = (round, at) == (3, 2)
    store.save_step(
        run,
        round,
        name,
        "perceive",
        Perception(
            turn=round - 1,
            similarities={"profile": 0.12, "background": 0.1, "emotion": 0.0},
            relevance=0.08 if passed_by else 0.41,
            named=named,
            noticed=not passed_by,
            importance=1.2 if passed_by else 7.1,
        ),
    )
    choices = {
        "memory_retrieval": MechanismChoice(
            active=failed, reason="the list of places" if failed else "nothing to recall"
        ),
        "time_analysis": MechanismChoice(active=at == 1, reason="I have to go soon" if at == 1 else "there is time"),
        "mention_response": MechanismChoice(active=named, reason="Ben named me" if named else "no occasion"),
    }
    store.save_step(
        run, round, name, "choose_mechanisms", InformationNeed(key_information="a place", mechanisms=choices)
    )
    for mechanism, choice in choices.items():
        if choice.active:
            finding = Finding(lines=(f"{mechanism} says something.",))
            if failed:
                finding = Finding(problem=f"{mechanism} took longer than 20 s")
            store.save_step(run, round, name, mechanism, finding)


def _bid(round: int, at: int, script: Script) -> Bid:
    parts = KEEN if at in script.latencies else COOL
    goes_on = (round, at) == (7, 0)
    return Bid(
        parts=parts,
        willingness=(parts.topic + parts.goal + parts.emotion + parts.personality) / 4,
        willing=at in script.latencies,
        similarity=0.8 if goes_on else 0.0,
        similarity_max=0.8 if goes_on else None,
        latency_scale_s=2.5,
        latency_spread_s=1.25,
        persistence=0.7 if goes_on else 1.0,
        latency_s=script.latencies.get(at),
        won=at == script.speaker,
    )


def _turn(store: Store, run: str, meeting: Meeting, round: int, script: Script, sim_time_s: float) -> TurnRecord:
    speaker = None if script.speaker is None else meeting.names[script.speaker]
    turn = Turn(turn=round, round=round, speaker=speaker, text=script.text, sim_time_s=sim_time_s, ended=False)
    if speaker is None:
        return TurnRecord(turn=turn)
    units = (
        Unit(id="goals.0", block="goals", kind="item", text="settle where and when", removable=True),
        Unit(id="situation.0", block="situation", kind="item", text=f"{speaker} thinks number {round}."),
    )
    prompt = store.save_prompt(Prompt(units=units, speaker=speaker, layout="single_message"))
    store.save_candidate(run, round, a_candidate().model_copy(update={"text": script.text, "inconsistency": 3.5}))
    return TurnRecord(
        turn=turn, prompt=prompt, scores={"goals.0": 0.2, "situation.0": 0.4}, removed=("goals.0",), scored_by="m"
    )


def _call(store: Store, round: int, agent: str, node: str, thought: str) -> Call:
    units = (
        Unit(id="self.0", block="self", kind="text", text=f"You are {agent}."),
        Unit(id="task", block="task", kind="text", text=f"Say how things stand in round {round}."),
    )
    prompt = store.save_prompt(Prompt(units=units, speaker=agent, layout="chat_turns"))
    reply = Reply(text=f'{{"thought": "{thought}"}}', tokens=(1, 2), text_tokens=(0, 1), fields={"thought": thought})
    return Call(round=round, agent=agent, node=node, model="m", prompt=prompt, replies=(reply,))
