"""The end of a round of an album chat: all of its exchanges are stored at once."""

from collections.abc import Iterable, Iterator

from langgraph.runtime import Runtime

from tertulia.nodes.album.album_prompts import forget_exchanges, keep_exchange
from tertulia.nodes.conversation.turns import speaking_time_s, spoken_turn
from tertulia.nodes.shared.limits import limit_reached
from tertulia.state.album import Exchange
from tertulia.state.context import Context, RecordedTurn
from tertulia.state.graph_state import AlbumState, DialogueState
from tertulia.state.records import Turn, TurnRecord


async def record_round(state: AlbumState, runtime: Runtime[Context]) -> AlbumState:
    """Record the exchanges of the round, and advance the clock by the longest of them: they are held side by side."""
    context, last = runtime.context, state["turn"] + len(state["pairs"])
    recorded = [recorded_exchange(state, turn, context) for turn in sorted(map(int, state["exchanges"]))]
    context.record(*recorded)
    for turn in recorded:
        assert turn.exchange is not None
        question, answer = turn.record.turn, turn.parts["answer"].turn
        keep_exchange(context, question.turn, turn.exchange, question.text, answer.text)
    spoken = [(turn.record.turn, turn.parts["answer"].turn) for turn in recorded]
    shared = shared_exchanges(context, state["turn"] + 1, state["turn"] + state["kept"])
    now_s = end_of_round_s([*shared, *spoken], context.parameters.speaking_rate_wpm)
    forget_exchanges(context, last + 1 - 2 * (context.parameters.history_records + 1) * len(state["pairs"]))
    ended_by = limit_reached(state["round"], now_s, context.parameters)
    return {
        "turn": last,
        "kept": 0,
        "sim_time_s": now_s,
        "exchanges": {},
        "pairs": [],
        "finished": ended_by is not None,
        "ended_by": ended_by,
    }


def shared_exchanges(context: Context, first: int, last: int) -> Iterator[tuple[Turn, Turn]]:
    """Yield questions and answers of the turns `first` to `last`, which are stored."""
    answers = context.store.part_turns(context.run, first, last)
    for question in context.store.turns(context.run, first, last):
        yield question, answers[question.turn, "answer"]


def end_of_round_s(exchanges: Iterable[tuple[Turn, Turn]], rate_wpm: float) -> float:
    """Return when the longest exchange of a round is over, in seconds, at a speaking rate in words per minute."""
    return max(
        question.sim_time_s + (speaking_time_s(question.text, rate_wpm) + speaking_time_s(answer.text, rate_wpm))
        for question, answer in exchanges
    )


def recorded_exchange(state: AlbumState, turn: int, context: Context) -> RecordedTurn:
    """Return an exchange, with how its question, plan and answer came about."""
    outcome = state["exchanges"][str(turn)]
    exchange = Exchange.model_validate(outcome["exchange"])
    records: dict[str, TurnRecord] = {}
    for part, speaker in (("plan", exchange.asker), ("", exchange.asker), ("answer", exchange.answerer)):
        spoken: DialogueState = {
            **outcome["utterances"][part],  # type: ignore[typeddict-item]
            "turn": turn,
            "round": state["round"],
            "speaker": speaker,
            "sim_time_s": state["sim_time_s"],
            "part": part,
        }
        records[part] = spoken_turn(spoken, context)
    return RecordedTurn(records.pop(""), records, exchange)
