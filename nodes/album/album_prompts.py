"""The prompts of an exchange, from the speaker's pictures and memories, and the picture shown."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tertulia.nodes.shared.full_prompt import save_full_prompt
from tertulia.prompts.album import CallMaterial, PastExchange, assemble_call
from tertulia.prompts.examples import album_exchanges
from tertulia.state.album import Exchange, Sight
from tertulia.state.context import Context
from tertulia.state.graph_state import Belongings, ExchangeState
from tertulia.state.randomness import keyed_generator


@dataclass
class _PastExchanges:
    """The exchanges that are at hand."""

    by_turn: dict[int, PastExchange] = field(default_factory=dict)


def save_prompt_of(
    state: ExchangeState, context: Context, call: str, speaker: str, picture: str | None = None, question: str = ""
) -> str:
    """Store the full prompt for a call of an exchange and return its content hash."""
    context, population = context.of(speaker), context.population
    parameters, belongings = context.parameters, state["belongings"][speaker]
    generator = keyed_generator(context.seed, agent=speaker, node=f"example_{call}")
    material = CallMaterial(
        call=call,
        setting=parameters.setting,
        speaker=population.participant(speaker),
        asker=state["asker"],
        answerer=state["answerer"],
        place=population.place,
        history=past_exchanges(context, belongings),
        album=[population.picture(id) for id in belongings["album"]],
        picture=None if picture is None else population.picture(picture),
        is_seen=sight_of(context, picture) == "seen",
        question=question,
        example=generator.choice(album_exchanges(call, parameters.setting, parameters.language)),
        language=parameters.language,
        wording=parameters.wording,
    )
    return save_full_prompt(assemble_call(material, context.layout, parameters), context)


def sight_of(context: Context, picture: str | None) -> Sight:
    """Return whether the model of a context sees a picture: if it can, is meant to, and the file is here."""
    is_here = picture is not None and context.population.picture(picture).file is not None
    can_see = context.model.traits.sees_pictures and context.parameters.sight != "captions"
    return "seen" if is_here and can_see else "captioned, not seen"


def past_exchanges(context: Context, belongings: Belongings) -> Sequence[PastExchange]:
    """Return the exchanges that a villager remembers, oldest first."""
    return [_past_exchange(context, turn) for turn in belongings["history"]]


def keep_exchange(context: Context, turn: int, exchange: Exchange, question: str, answer: str) -> None:
    """Keep an exchange at hand for its memories in the next rounds, so that it need not be read."""
    picture = context.population.picture(exchange.picture)
    kept = context.kept.of(_PastExchanges, _PastExchanges).by_turn
    kept[turn] = PastExchange(exchange.asker, exchange.answerer, picture, question, answer)


def forget_exchanges(context: Context, before: int) -> None:
    """Let go of the exchanges before a turn; later uses read it from the store."""
    kept = context.kept.of(_PastExchanges, _PastExchanges).by_turn
    for turn in [turn for turn in kept if turn < before]:
        del kept[turn]


def _past_exchange(context: Context, turn: int) -> PastExchange:
    kept = context.kept.of(_PastExchanges, _PastExchanges).by_turn
    if turn not in kept:
        store, run = context.store, context.run
        exchange = store.step(run, turn, "", "exchange", Exchange)
        assert exchange is not None  # every exchange that is remembered was stored with its round
        (question,) = store.turns(run, turn, turn)
        answer = store.part_turns(run, turn, turn)[turn, "answer"]
        keep_exchange(context, turn, exchange, question.text, answer.text)
    return kept[turn]
