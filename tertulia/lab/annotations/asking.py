"""Ask a person of a stored conversation anything, at any turn, in character; the conversation never hears of it.

The answers are annotations: they stand beside the run, nothing of which depends on them. A question is asked by itself,
whatever else is asked. The personality inventory is one questionnaire (`self_inventory.py`).
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from tertulia.lab.annotations.annotating import AnnotationRequest, Drawing
from tertulia.lab.annotations.self_inventory import person_requests
from tertulia.metrics.personality import SEGMENT_TURNS, scores_of
from tertulia.nodes.album.belongings import belongings_at
from tertulia.nodes.shared.called_up import called_up, calling
from tertulia.nodes.shared.hearing import was_there
from tertulia.prompts.album import PastExchange
from tertulia.prompts.annotation import inventory_items
from tertulia.prompts.questions import Moment, ask_in_character
from tertulia.state.album import Population
from tertulia.state.annotation import Annotation
from tertulia.state.cognition import Assessment, Character
from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.errors import NotFoundError, UsageError
from tertulia.state.language_model import REHEARSAL, ReplyField
from tertulia.state.meeting import Meeting, Start
from tertulia.state.parameters import Parameters
from tertulia.state.records import Case, Memory, Participant, Record, RunRecord, Turn
from tertulia.storage.store import SqlStore
from tertulia.views.reading.exchanges import RecordedExchange, read_exchanges
from tertulia.views.reading.rounds import find_agent, read_characters
from tertulia.worlds.questionnaire import INVENTORY, Question, read_questions

#: The memories that a person is reminded of: those that are called up by keys, then the most important ones, of equal
#: ones the latest.
_MEMORIES = 12

#: The longest answer in words, in tokens.
_ANSWER_TOKENS = 160

#: The field of a reply that has the answer.
_FIELD = "answer"


class Response(Record):
    """A person's answer to a question, in character.

    Attributes:
        person: The name of the person asked.
        at: After which turn; 0: before the first.
        answer: A text, an option, or a number of a scale.
        probabilities: By option or number, its probability; they sum to 1. `None` if the model does not tell it, and of
            an answer in words.
        model: The model that answered; of a rehearsal, the answer means nothing.
        seed: The seed of the draw; `None` in the inventory, whose likeliest answers are taken.
        prompt: The prompt as the model read it.
    """

    person: str
    at: int
    question: str
    answer: int | str
    probabilities: dict[str, float] | None
    model: str
    seed: int | None
    prompt: str


@dataclass(frozen=True)
class Inquiry:
    """The person asked, at a moment.

    Attributes:
        at: The turn after which they are asked; 0: before the first.
        model: The model that speaks for them.
    """

    run: RunRecord
    person: str
    at: int
    model: str
    requests: Sequence[AnnotationRequest]


def questions_given(questions: Sequence[str], file: str | None) -> tuple[Question, ...] | None:
    """Return the questions of a command: its words, those of a file after them, or `None` for the inventory.

    Raises:
        UsageError: There is none, one is not acceptable, or the inventory is asked beside others.
    """
    if list(questions) == [INVENTORY] and file is None:
        return None
    if INVENTORY in questions:
        raise UsageError(f"{INVENTORY} is a questionnaire by itself; ask the other questions in another command")
    of_file = () if file is None else read_questions(Path(file)) or ()
    return (*(read_questions(list(questions)) or () if questions or file is None else ()), *of_file)


def inquiry(
    store: SqlStore,
    run: RunRecord,
    person: str,
    questions: Sequence[Question] | None,
    at: int | None = None,
    seed: int | None = None,
) -> Inquiry:
    """Return the request to a person after a turn.

    Args:
        person: The name of a participant; letter case makes no difference.
        questions: `None` for the inventory.
        at: The turn; 0 for the moment before the first, `None` for the end.
        seed: Seed of the draws; the run's if it is not given.

    Raises:
        NotFoundError: There is no such turn, or nobody of that name takes part.
        UsageError: They are not there at that moment.
    """
    start, parameters = store.start(run.run), Parameters.model_validate(run.parameters)
    name = find_agent(person, start, run.run)
    turn = _checked_turn(store, run, at)
    _check_is_there(start, name, turn)
    number = turn.turn if turn is not None else 0
    exchanges: list[RecordedExchange] = []
    if isinstance(start, Population):
        exchanges = read_exchanges(store, run.run, start, 1, number) if number else []
        lines = [line for each in exchanges if each.concerns(name) for line in (each.turn, each.answer)]
        heard, character = lines[-SEGMENT_TURNS:], None
    else:
        heard = _heard(store.turns(run.run, 1, number) if number else [], start, name, parameters)
        character = read_characters(store, run.run).get(name)
    if questions is None:
        heard = [
            line for line in heard if line.turn > 0
        ]  # as `lab report population` asks, so that either has the answers
        requests = person_requests(start.participant(name), character, heard, number)
    else:
        if isinstance(start, Population):
            moment = _at_albums(start, name, exchanges, parameters)
        else:
            moment = _moment(store, run, start, name, turn, heard, character, parameters.language)
        seed = run.seed if seed is None else seed
        drawing = Drawing(seed, parameters.sampling_temperature, parameters.top_p)
        known = [] if isinstance(start, Population) else _known(store, start.participant(name))
        requests = [
            _request(_reminded(moment, known, start, question), name, number, question, drawing)
            for question in questions
        ]
    spoken_by = run.participant_models.get(name)
    return Inquiry(run, name, number, run.model if spoken_by is None else spoken_by.model, requests)


def _checked_turn(store: SqlStore, run: RunRecord, at: int | None) -> Turn | None:
    """Return the turn after which a person is asked; `None` for the moment before the first."""
    number = run.turns if at is None else at
    if number == 0:
        return None
    if not 0 < number <= run.turns:
        which = f"turns 1 to {run.turns}" if run.turns else "no turns yet"
        raise NotFoundError(f"run {run.run} has no turn {number}; it has {which}")
    (turn,) = store.turns(run.run, number, number)
    return turn


def _check_is_there(start: Start, name: str, turn: Turn | None) -> None:
    """Refuse to ask a person before they come, or after they leave."""
    now_s = turn.sim_time_s if turn is not None else 0.0
    if not isinstance(start, Meeting) or name in start.present(now_s):
        return
    attendee = start.participant(name)
    came = start.offset_s(attendee.joins, 0.0) <= now_s
    moment = attendee.leaves if came else attendee.joins
    what = f"left at {moment:%H:%M:%S}" if came else f"comes at {moment:%H:%M:%S}"
    now = f"{start.time + timedelta(seconds=now_s):%H:%M:%S}"
    when = f"after turn {turn.turn}, at {now}" if turn is not None else "before the first turn"
    raise UsageError(f"{name} is not there {when}: {name} {what}; ask somebody who is, or at another turn")


def _heard(turns: Sequence[Turn], start: Start, name: str, parameters: Parameters) -> list[Turn]:
    """Return the last lines that a person was there for, the opening of a meeting among them."""
    if isinstance(start, Meeting):
        turns = [*([start.opening_turn] if start.opening_turn is not None else []), *turns]
        if parameters.hearing != "all":
            turns = [turn for turn in turns if was_there(start, name, turn)]
    return list(turns[-SEGMENT_TURNS:])


def _moment(
    store: SqlStore,
    run: RunRecord,
    start: Start,
    name: str,
    turn: Turn | None,
    heard: Sequence[Turn],
    character: Character | None,
    language: str,
) -> Moment:
    person = start.participant(name)
    rounds = range(turn.round, 0, -1) if turn is not None and isinstance(start, Meeting) else ()
    found = (store.step(run.run, round, name, "assess", Assessment) for round in rounds)
    described = start.description if isinstance(start, Case | Meeting) else None
    return Moment(
        participant=person,
        heard=heard,
        situation=[text for text in (start.place, described) if text],
        memories=(),
        earlier=start.previous_dialogues[-1:] if isinstance(start, Case) else (),
        character=character,
        assessment=next((assessment for assessment in found if assessment is not None), None),
        language=language,
    )


def _at_albums(
    population: Population, name: str, exchanges: Sequence[RecordedExchange], parameters: Parameters
) -> Moment:
    """Return a villager's memory after these exchanges: those that they remember, and their pictures."""
    held = [(each.turn.turn, each.exchange) for each in exchanges]
    belongings = belongings_at(population, held, parameters)[name]
    by_turn = {each.turn.turn: each for each in exchanges}
    remembered = (by_turn[turn] for turn in belongings["history"])
    return Moment(
        participant=population.participant(name),
        heard=(),
        situation=[population.place] if population.place else [],
        memories=(),
        language=parameters.language,
        exchanges=[
            PastExchange(each.exchange.asker, each.exchange.answerer, each.picture, each.turn.text, each.answer.text)
            for each in remembered
        ],
        album=[population.picture(id) for id in belongings["album"]],
    )


def _known(store: SqlStore, person: Participant) -> list[Memory]:
    """Return the memories of a person, those of their stream among them."""
    return [*person.memories, *(store.remembered(person.stream) if person.stream is not None else ())]


def _reminded(moment: Moment, memories: Sequence[Memory], start: Start, question: Question) -> Moment:
    """Return the moment with the memories that come to mind at a question, those with keys first."""
    heard = calling(start, [turn.text for turn in moment.heard if turn.speaker is not None])
    called = called_up(memories, [*heard, question.text], start.time, _MEMORIES)
    free = [memory for memory in memories if not memory.keys]
    by_weight = sorted(free, key=lambda memory: (memory.importance, memory.created), reverse=True)
    chosen = sorted([*called, *by_weight[: _MEMORIES - len(called)]], key=lambda memory: memory.created)
    return replace(moment, memories=[memory.text for memory in chosen])


def _request(moment: Moment, name: str, at: int, question: Question, drawing: Drawing) -> AnnotationRequest:
    prompt = ask_in_character(moment, question.text, question.options, question.scale)
    if question.scale is not None:
        field = ReplyField(_FIELD, "integer", minimum=question.scale[0], maximum=question.scale[1])
    elif question.options:
        field = ReplyField(_FIELD, "choice", choices=question.options)
    else:
        field = ReplyField(_FIELD, "text", max_tokens=_ANSWER_TOKENS)
    return AnnotationRequest(
        instrument="asked",
        agent=name,
        first=at + 1,
        last=at,
        part=_part(question, drawing.seed),
        prompt=prompt,
        fields=(field,),
        drawing=drawing,
        noted={"question": question.text, "seed": drawing.seed},
    )


def _part(question: Question, seed: int) -> int:
    """Return the number under which an answer is kept: of the question and the seed, so that others stay beside it."""
    key = f"{seed} {question.model_dump_json()}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(key, digest_size=4).digest(), "big") >> 1


# --- answers --------------------------------------------------------------------------------------------------------


def responses(store: SqlStore, answers: Sequence[Annotation]) -> list[Response]:
    """Return the answers of stored annotations, one by one: of a call of the inventory there are 22."""
    return [response for answer in answers for response in _responses(store, answer)]


def _responses(store: SqlStore, answer: Annotation) -> Iterator[Response]:
    prompt = "\n".join(unit.text for unit in store.prompt(answer.prompt).units)
    values, seed, probabilities = dict(answer.answers), None, answer.probabilities
    if answer.instrument == "asked":
        seed = int(values["seed"])
        values = {str(values["question"]): values[_FIELD]}
    for question, value in values.items():
        yield Response(
            person=answer.agent,
            at=answer.last,
            question=question,
            answer=value,
            probabilities=probabilities or None,
            model=answer.model,
            seed=seed,
            prompt=prompt,
        )


def asked_document(asked: Inquiry, answers: Sequence[Response]) -> Document:
    """Return a person's answer as JSON."""
    return {
        "schema_version": SCHEMA_VERSION,
        "run": asked.run.run,
        "person": asked.person,
        "at": asked.at,
        "rehearsed": asked.run.rehearsed or any(answer.model == REHEARSAL for answer in answers),
        "traits": dict(trait_scores(answers)),
        "answers": [answer.model_dump(exclude={"person", "at"}) for answer in answers],
    }


def trait_scores(answers: Sequence[Response]) -> Mapping[str, float]:
    """Return the scores on the five traits, in [1, 5], of answers to the whole inventory; empty for others."""
    numbers = {item: number for number, item in inventory_items().items()}
    rated = {numbers[each.question]: int(each.answer) for each in answers if each.question in numbers}
    return scores_of(rated) if len(rated) == len(numbers) else {}
