"""Recorded exchanges of an album chat, totals of people, and journeys of pictures."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from tertulia.nodes.shared.names_in_text import is_named
from tertulia.state.album import Exchange, Picture, Population
from tertulia.state.errors import NotFoundError, StorageError, UsageError, nearest_hint
from tertulia.state.meeting import Start
from tertulia.state.parameters import Parameters
from tertulia.state.records import RunRecord, Turn
from tertulia.state.store import Store

if TYPE_CHECKING:
    from tertulia.metrics.album import AlbumExchange


#: The turns that are read at once of a long run.
_AT_ONCE = 500


@dataclass(frozen=True)
class RecordedExchange:
    """An exchange with its utterances.

    Attributes:
        turn: The question.
        exchange: The pair that met, and their picture.
        plan: The asker's words when they chose the picture.
        answer: The answer, as a turn of the answerer.
    """

    turn: Turn
    exchange: Exchange
    picture: Picture
    plan: str
    answer: Turn

    def concerns(self, agent: str) -> bool:
        """Return whether an agent asked or answered."""
        return agent in (self.exchange.asker, self.exchange.answerer)

    def measured(self, faults: Mapping[str, tuple[str, ...]] | None = None) -> "AlbumExchange":
        """Return the exchange as metrics take it, with the faults of its texts by call, if these are known."""
        from tertulia.metrics.album import AlbumExchange

        asker, answerer = self.exchange.asker, self.exchange.answerer
        addressed = {"question": (answerer, self.turn.text), "answer": (asker, self.answer.text)}
        return AlbumExchange(
            turn=self.turn.turn,
            round=self.turn.round,
            asker=asker,
            answerer=answerer,
            picture=self.exchange.picture,
            found=self.exchange.found,
            plan=self.plan,
            question=self.turn.text,
            answer=self.answer.text,
            naming=tuple(call for call, (partner, text) in addressed.items() if is_named(partner, text)),
            faults=None if faults is None else dict(faults),
        )

    def document(self) -> dict[str, Any]:
        """Return the exchange as JSON."""
        return {
            **self.exchange.model_dump(mode="json"),
            "picture": self.picture.model_dump(mode="json"),
            "plan": self.plan,
            "question": self.turn.text,
            "answer": self.answer.text,
        }


def read_exchanges(
    store: Store, run: str, population: Population, first: int = 1, last: int | None = None
) -> list[RecordedExchange]:
    """Return the exchanges of the turns `first` to `last` (inclusive; to the end if `None`).

    Raises:
        StorageError: One of them is missing or incomplete.
    """
    steps = {turn: exchange for (turn, _), exchange in store.steps(run, "exchange", Exchange, first, last).items()}
    turns = store.turns(run, first, last)
    parts = store.part_turns(run, first, last, of=turns)
    exchanges = []
    for turn in turns:
        exchange, plan, answer = steps.get(turn.turn), parts.get((turn.turn, "plan")), parts.get((turn.turn, "answer"))
        if exchange is None or plan is None or answer is None:
            raise StorageError(f"turn {turn.turn} of run {run} is not whole: the store was altered, or is damaged")
        picture = population.picture(exchange.picture)
        exchanges.append(RecordedExchange(turn, exchange, picture, plan.text, answer))
    return exchanges


def by_round(exchanges: Iterable[RecordedExchange]) -> Iterator[tuple[int, list[RecordedExchange]]]:
    """Yield the rounds, each with its exchanges."""
    for round, of_round in groupby(exchanges, key=lambda exchange: exchange.turn.round):
        yield round, list(of_round)


def spoken_turns(store: Store, run: str, start: Start, first: int = 1, last: int | None = None) -> list[Turn]:
    """Return the turns of a run from one to another; in an album chat each question is followed by its answer."""
    turns = store.turns(run, first, last)
    if not isinstance(start, Population):
        return turns
    parts = store.part_turns(run, first, last, of=turns)
    return [spoken for turn in turns for spoken in (turn, parts.get((turn.turn, "answer"))) if spoken is not None]


def each_line(store: Store, run: str, start: Start) -> Iterator[Turn]:
    """Yield `spoken_turns` of a whole run, read in pieces: one of any length fits into memory."""
    for first in range(1, store.run(run).turns + 1, _AT_ONCE):
        yield from spoken_turns(store, run, start, first, first + _AT_ONCE - 1)


def check_is_no_album_chat(run: RunRecord, command: str) -> None:
    """Raise `UsageError` for an album chat, as the command is about conversations of everybody present."""
    if run.kind == "album_chat":
        raise UsageError(
            f"run {run.run} is an album chat, in which two meet at a time: {command} has nothing to say of it; "
            f"see tertulia stats {run.run}, or tertulia lab report album LOW HIGH"
        )


# --- totals ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AgentTotals:
    """The figures of a participant of an album chat.

    Attributes:
        asked, answered: Numbers of exchanges.
        words: Of their questions and answers.
        pictures_shown: The number of different pictures that they asked about.
        pictures_received: The number of pictures that came into their album.
        partners: The number of different people whom they met.
    """

    agent: str
    asked: int
    answered: int
    words: int
    pictures_shown: int
    pictures_received: int
    partners: int


def totals_of(agent: str, exchanges: Sequence[RecordedExchange]) -> AgentTotals:
    """Return the figures of an agent from their exchanges."""
    from tertulia.metrics.diversity import words

    asked = [exchange for exchange in exchanges if exchange.exchange.asker == agent]
    answered = [exchange for exchange in exchanges if exchange.exchange.answerer == agent]
    texts = [*(exchange.turn.text for exchange in asked), *(exchange.answer.text for exchange in answered)]
    return AgentTotals(
        agent=agent,
        asked=len(asked),
        answered=len(answered),
        words=sum(len(words(text)) for text in texts),
        pictures_shown=len({exchange.picture.id for exchange in asked}),
        pictures_received=sum(exchange.exchange.passed for exchange in answered),
        partners=len({*(met.exchange.answerer for met in asked), *(met.exchange.asker for met in answered)}),
    )


# --- journeys -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Journey:
    """The way of a picture through the albums.

    Attributes:
        first_holders: The people with it in their album when the first round began.
        exchanges: The exchanges about it.
        lost: The people that lost it again, by turn.
        holders: The people with it in the end.
        seen_by: By round, how many have had it, or asked or answered about it, by its end; round 0 is before the first.
    """

    picture: Picture
    first_holders: tuple[str, ...]
    exchanges: tuple[RecordedExchange, ...]
    lost: Mapping[int, str]
    holders: tuple[str, ...]
    seen_by: Mapping[int, int]

    @property
    def seen(self) -> int:
        """The number of people that have seen it in the end."""
        return max(self.seen_by.values())

    @property
    def passed(self) -> int:
        """The number of times that it came into another album."""
        return sum(exchange.exchange.passed for exchange in self.exchanges)

    def figures(self) -> dict[str, Any]:
        """Return the journey as JSON, in numbers."""
        return {
            "picture": self.picture.id,
            "caption": self.picture.caption,
            "variant": self.picture.variant,
            "first_holders": len(self.first_holders),
            "exchanges": len(self.exchanges),
            "passed": self.passed,
            "holders": len(self.holders),
            "seen_by": list(self.seen_by.values()),
        }

    def document(self) -> dict[str, Any]:
        """Return the journey as JSON: the people that had it, showed it, got it, lost it, and have it."""
        return {
            "picture": self.picture.model_dump(mode="json"),
            "first_holders": list(self.first_holders),
            "exchanges": [
                {
                    "turn": met.turn.turn,
                    "round": met.turn.round,
                    **met.exchange.model_dump(mode="json", include={"asker", "answerer", "passed"}),
                }
                for met in self.exchanges
            ],
            "lost": [{"turn": turn, "agent": agent} for turn, agent in self.lost.items()],
            "seen_by": list(self.seen_by.values()),
            "holders": list(self.holders),
        }


def journeys(
    population: Population, exchanges: Sequence[RecordedExchange], parameters: Parameters
) -> dict[str, Journey]:
    """Return the journey of every picture by its id, sorted by how many people have seen it."""
    from tertulia.nodes.album.belongings import first_belongings

    holders: dict[str, dict[str, None]] = {picture.id: {} for picture in population.pictures}
    for name, belongings in first_belongings(population, parameters).items():
        for picture in belongings["album"]:
            holders[picture][name] = None
    first = {picture: tuple(names) for picture, names in holders.items()}
    seen = {picture: set(names) for picture, names in holders.items()}
    seen_by = {picture: {0: len(names)} for picture, names in holders.items()}
    about: dict[str, list[RecordedExchange]] = {picture: [] for picture in holders}
    lost: dict[str, dict[int, str]] = {picture: {} for picture in holders}
    for round, of_round in by_round(exchanges):
        for recorded in of_round:
            exchange = recorded.exchange
            about[exchange.picture].append(recorded)
            seen[exchange.picture] |= {exchange.asker, exchange.answerer}
            if exchange.passed:
                holders[exchange.picture][exchange.answerer] = None
            if exchange.dropped is not None:
                holders[exchange.dropped].pop(exchange.answerer, None)
                lost[exchange.dropped][recorded.turn.turn] = exchange.answerer
        for picture, counts in seen_by.items():
            counts[round] = len(seen[picture])
    found = [
        Journey(
            picture=picture,
            first_holders=first[picture.id],
            exchanges=tuple(about[picture.id]),
            lost=lost[picture.id],
            holders=tuple(holders[picture.id]),
            seen_by=seen_by[picture.id],
        )
        for picture in population.pictures
    ]
    found.sort(key=lambda journey: (-journey.seen, -len(journey.exchanges)))
    return {journey.picture.id: journey for journey in found}


def read_journey(store: Store, run: RunRecord, start: Start, given: str) -> Journey:
    """Return the journey of a picture, by its id or its caption.

    Raises:
        UsageError: The run is no album chat, or several pictures are called that.
        NotFoundError: There is no such picture.
    """
    if not isinstance(start, Population):
        raise UsageError(f"--picture is for album chats, and run {run.run} is none; see tertulia show {run.run}")
    picture = find_picture(given, start, run.run)
    exchanges = read_exchanges(store, run.run, start)
    return journeys(start, exchanges, Parameters.model_validate(run.parameters))[picture.id]


def read_album(store: Store, run: RunRecord, population: Population) -> tuple[list[AgentTotals], list[Journey]]:
    """Return the figures of everybody, and the journeys of all pictures (see `journeys`)."""
    exchanges = read_exchanges(store, run.run, population)
    by_agent: dict[str, list[RecordedExchange]] = {agent: [] for agent in population.names}
    for exchange in exchanges:
        for agent in (exchange.exchange.asker, exchange.exchange.answerer):
            by_agent[agent].append(exchange)
    totals = [totals_of(agent, of_agent) for agent, of_agent in by_agent.items()]
    return totals, [*journeys(population, exchanges, Parameters.model_validate(run.parameters)).values()]


def find_picture(given: str, population: Population, run: str) -> Picture:
    """Return a picture by its id, or by its caption, with or without its variant.

    Raises:
        NotFoundError: There is no such picture.
        UsageError: Several have this caption.
    """
    wanted = given.strip().casefold()
    for picture in population.pictures:
        if given == picture.id:
            return picture
    found = [
        picture
        for picture in population.pictures
        if wanted in (picture.id.casefold(), picture.caption.casefold(), picture.described.casefold())
    ]
    if len(found) == 1:
        return found[0]
    if found:
        ids = ", ".join(picture.id for picture in found)
        raise UsageError(f"--picture {given}: {len(found)} pictures are called that; name one by its id: {ids}")
    known = dict.fromkeys(name for picture in population.pictures for name in (picture.caption, picture.id))
    raise NotFoundError(f"run {run} has no picture {given!r}{nearest_hint(given, known, otherwise='')}")
