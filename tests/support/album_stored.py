"""An album chat of five villagers as a run leaves it in a store: two rounds of two exchanges, and somebody rests.

| turn | round | who asks whom | about | what is special |
|---|---|---|---|---|
| 1 | 1 | Ada, Ben | pot | it passes to Ben, whose map leaves his album for it |
| 2 | 1 | Cleo, Dev | tub | named with its variant; Dev has it already |
| 3 | 2 | Ben, Eva | pot | passed on; Ben asks what Ada asked; a backup was taken |
| 4 | 2 | Cleo, Ada | tub | not named in the plan, but similar; the text would obey a terminal |
"""

from typing import NamedTuple

from support.stored import NOW, a_reply, a_run

from tertulia.state.album import CALLS, PARTS, Exchange, Pairs, Picture, PictureFile, Population, Villager
from tertulia.state.cognition import Call
from tertulia.state.parameters import ALBUM_CHAT, Parameters
from tertulia.state.records import Candidate, Persona, Prompt, RunRecord, Turn, TurnRecord, Unit
from tertulia.state.store import Store

HOSTILE = "Is it \x1b[31mred\x1b[0m, *Ada*? <b>"

PICTURES = (
    Picture(
        id="pot.png",
        caption="pot",
        variant="Beige",
        file=PictureFile(hash="0" * 32, width=64, height=48, colours=("brown", "white")),
    ),
    Picture(id="tub-white", caption="tub", variant="White"),
    Picture(id="tub-black", caption="tub", variant="Black"),
    Picture(id="map", caption="old map"),
)

ALBUMS = {
    "Ada": ("pot.png", "tub-black"),
    "Ben": ("map", "tub-white"),
    "Cleo": ("tub-white",),
    "Dev": ("tub-white", "tub-black"),
    "Eva": ("map",),
}


class Encounter(NamedTuple):
    """An exchange to be stored: who, about what, and the three texts."""

    asker: str
    answerer: str
    picture: str
    plan: str
    question: str
    answer: str
    passed: bool = False
    dropped: str | None = None
    similarity: float | None = None


EXCHANGES = (
    Encounter("Ada", "Ben", "pot.png", "I choose the pot.", "What is in it?", "A plant, Ada.", True, "map"),
    Encounter("Cleo", "Dev", "tub-white", "The tub: White.", "Who bathes in it?", "Nobody does."),
    Encounter("Ben", "Eva", "pot.png", "The pot again.", "what is in it", "A small plant.", True),
    Encounter("Cleo", "Ada", "tub-white", "That white thing.", HOSTILE, "Yes.", True, "pot.png", 0.4321),
)

ALBUM_PICTURES = 2


def a_population() -> Population:
    return Population(
        scenario="villagers",
        title="A village",
        time=NOW,
        place="the green",
        villagers=tuple(
            Villager(persona=Persona(name=name), properties=(("Species", "Owl"),), album=album)
            for name, album in ALBUMS.items()
        ),
        pictures=PICTURES,
    )


def an_album_run(run: str = "a1b2", setting: str = "low", **changes: object) -> RunRecord:
    parameters = Parameters().with_settings({**ALBUM_CHAT, "setting": setting, "album_pictures": ALBUM_PICTURES})
    return a_run(
        run,
        **{
            "kind": "album_chat",
            "scenario": "villagers",
            "status": "finished",
            "parameters": parameters.model_dump(),
            **changes,
        },
    )


def write_exchange(store: Store, run: str, turn: int, round: int, encounter: Encounter) -> None:
    """Store everything that an exchange leaves."""
    records: dict[str, TurnRecord] = {}
    for call in CALLS:
        speaker, text = encounter.answerer if call == "answer" else encounter.asker, getattr(encounter, call)
        units = (
            Unit(id="role.0", block="basic_info", kind="item", text=f"{speaker} is an owl, asked for {call}."),
            Unit(id="album.0", block="album", kind="item", text=f"seen by {speaker} at {call}", removable=True),
            Unit(id="album.1", block="album", kind="item", text="an old map", removable=True),
        )
        prompt = store.save_prompt(Prompt(units=units, speaker=speaker, layout="single_message"))
        is_backed_up = turn == 3 and call == "answer"
        for attempt, words in enumerate(["Something else.", text] if is_backed_up else [text]):
            reply = a_reply(words, line=words)
            candidate = Candidate(
                attempt=attempt, text=words, reply=reply, origin="backup" if attempt else "drawn", inconsistency=7.0
            )
            store.save_candidate(run, turn, candidate, PARTS[call])
        spoken = Turn(turn=turn, round=round, speaker=speaker, text=text, sim_time_s=60.0 * (round - 1), ended=False)
        records[PARTS[call]] = TurnRecord(
            turn=spoken,
            prompt=prompt,
            scores={unit.id: 0.1 * (index + 1) for index, unit in enumerate(units)},
            removed=("album.0",),
            chosen=int(is_backed_up),
            rollbacks=int(is_backed_up),
            scored_by="m",
            judged_by="m",
        )
        called = Call(
            round=turn, agent=speaker, node=f"generate_{call}", attempt=0, model="m", prompt=prompt, replies=(reply,)
        )
        store.save_calls(run, [called])
    exchange = Exchange(
        asker=encounter.asker,
        answerer=encounter.answerer,
        picture=encounter.picture,
        found="named" if encounter.similarity is None else "similar",
        similarity=encounter.similarity,
        sight="captioned, not seen",
        passed=encounter.passed,
        dropped=encounter.dropped,
    )
    store.save_step(run, turn, "", "exchange", exchange)
    own = records.pop("")
    store.save_turn(run, own, records)


def write_album_run(store: Store, run: RunRecord, exchanges: tuple[Encounter, ...] = EXCHANGES) -> None:
    """Store an album chat with these exchanges, two a round."""
    store.create_run(run, a_population())
    for turn, encounter in enumerate(exchanges, start=1):
        round = (turn + 1) // 2
        if turn % 2:
            pairs = tuple((met.asker, met.answerer) for met in exchanges[turn - 1 : turn + 1])
            everybody = {name for pair in pairs for name in pair}
            resting = next(name for name in ALBUMS if name not in everybody)
            store.save_step(run.run, turn, "", "pairs", Pairs(pairs=pairs, resting=resting))
        write_exchange(store, run.run, turn, round, encounter)
