"""Records for tests of stored album chats: a population, and what an exchange leaves."""

from support.stored import NOW, a_candidate, a_run, a_turn_record

from tertulia.state.album import Exchange, Picture, PictureFile, Population, Villager
from tertulia.state.cognition import Trace, Visit
from tertulia.state.records import Persona, Prompt, RunRecord, TurnRecord, Unit
from tertulia.state.store import Store

ASKER, ANSWERER = "Ada", "Bob"


def an_album_run(run: str = "k3f9", **changes: object) -> RunRecord:
    return a_run(run, kind="album_chat", scenario="villagers", **changes)


def a_population(*hashes: str) -> Population:
    """Two villagers with a picture of their own, the first of which have files of these hashes."""
    files = [PictureFile(hash=hash, width=8, height=8, colours=("red",)) for hash in hashes]
    pictures = [
        Picture(id=f"p{i}", caption=f"a heron {i}", file=files[i] if i < len(files) else None)
        for i in range(max(2, len(files)))
    ]
    return Population(
        scenario="villagers",
        title="Half an \ud83d",
        time=NOW,
        villagers=tuple(
            Villager(
                persona=Persona(name=name),
                properties=(("job", f"job {i}"),),
                album=(pictures[i].id,),
            )
            for i, name in enumerate((ASKER, ANSWERER))
        ),
        pictures=tuple(pictures),
    )


def a_picture_prompt(turn: int, part: str, picture: str | None = None) -> Prompt:
    units = [
        Unit(id="album.0", block="album", kind="item", text="a heron", removable=True),
        Unit(id="album.1", block="album", kind="item", text=f"a boat {turn}", removable=True),
        Unit(id="picture.image", block="picture", kind="item", text="a heron", picture=picture),
        Unit(id="task.0", block="task", kind="text", text=f"Write the {part or 'question'}."),
    ]
    return Prompt(units=tuple(units), speaker=ASKER, layout="single_message")


def an_utterance(store: Store, turn: int, part: str, speaker: str, picture: str | None = None) -> TurnRecord:
    """One of the three utterances of an exchange; each has been scored, judged and rolled back otherwise."""
    prompt = store.save_prompt(a_picture_prompt(turn, part, picture))
    number = ("", "answer", "plan").index(part)
    whole = a_turn_record(
        turn,
        prompt=prompt,
        scores={"album.0": 0.1 + number, "album.1": 0.2 + number},
        removed=("album.1", "album.0")[number:],
        chosen=number,
        rollbacks=number,
        scored_by=f"scorer {number}",
        judged_by=f"judge {number}",
    )
    said = whole.turn.model_copy(
        update={"round": 1, "sim_time_s": 0.1, "speaker": speaker, "text": f"The {part or 'question'} of turn {turn}."}
    )
    return whole.model_copy(update={"turn": said})


def an_exchange(store: Store, turn: int, picture: str | None = None) -> tuple[TurnRecord, dict[str, TurnRecord]]:
    """The question of an exchange, and its parts."""
    return an_utterance(store, turn, "", ASKER, picture), {
        "answer": an_utterance(store, turn, "answer", ANSWERER, picture),
        "plan": an_utterance(store, turn, "plan", ASKER, picture),
    }


def write_exchange(store: Store, run: str, turn: int, picture: str | None = None) -> None:
    """Store everything that an exchange leaves."""
    question, parts = an_exchange(store, turn, picture)
    for part, record in {"": question, **parts}.items():
        for attempt in range(record.chosen + 1):
            judged = a_candidate(attempt, turn, inconsistency=3.0 + record.chosen - attempt)
            store.save_candidate(run, turn, judged.model_copy(update={"text": f"{part} {attempt}"}), part)
    exchange = Exchange(
        asker=ASKER, answerer=ANSWERER, picture="p0", found="similar", similarity=0.5, sight="captioned, not seen"
    )
    with store.transaction():
        store.save_turn(run, question, parts)
        store.save_step(run, turn, "", "exchange", exchange)
        store.save_trace(run, turn, Trace(visits=(Visit(node="n", agent="", before={}, update=None),), after={}))
