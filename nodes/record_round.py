"""The end of a round of an album chat: all of its exchanges are stored at once."""

from langgraph.runtime import Runtime

from nodes.album_prompts import forget_exchanges, keep_exchange
from nodes.limits import Progress, album_chat_is_over
from nodes.turns import speaking_time_s, spoken_turn
from state.album import Exchange
from state.context import Context
from state.graph_state import AlbumState, DialogueState, ExchangeOutcome
from state.records import TurnRecord


async def record_round(state: AlbumState, runtime: Runtime[Context]) -> AlbumState:
    """Store the exchanges of the round, and advance the clock by the longest of them: they are held side by side."""
    context, now_s = runtime.context, state["sim_time_s"]
    rate, longest_s = context.parameters.speaking_rate_wpm, 0.0
    with context.store.transaction():
        for turn in sorted(map(int, state["exchanges"])):
            outcome = state["exchanges"][str(turn)]
            exchange = Exchange.model_validate(outcome["exchange"])
            question, parts = _records(state, turn, exchange, outcome, context)
            context.store.save_step(context.run, turn, "", "exchange", exchange)
            context.store.save_turn(context.run, question, parts)
            words, answer = question.turn.text, parts["answer"].turn
            keep_exchange(context, turn, exchange, words, answer.text)
            length_s = answer.sim_time_s - now_s + speaking_time_s(answer.text, rate)
            longest_s = max(longest_s, length_s)
    last, now_s = state["turn"] + len(state["pairs"]), now_s + longest_s
    forget_exchanges(context, last + 1 - 2 * (context.parameters.history_records + 1) * len(state["pairs"]))
    progress = Progress(state["round"], now_s, context.start, context.parameters)
    return {
        "turn": last,
        "kept": 0,
        "sim_time_s": now_s,
        "exchanges": {},
        "pairs": [],
        "finished": album_chat_is_over(progress),
    }


def _records(
    state: AlbumState, turn: int, exchange: Exchange, outcome: ExchangeOutcome, context: Context
) -> tuple[TurnRecord, dict[str, TurnRecord]]:
    """Return how the question came about, and the plan before it and the answer behind it."""
    records: dict[str, TurnRecord] = {}
    now_s = state["sim_time_s"]
    for part, speaker in (("plan", exchange.asker), ("", exchange.asker), ("answer", exchange.answerer)):
        spoken: DialogueState = {
            **outcome["utterances"][part],  # type: ignore[typeddict-item]
            "turn": turn,
            "round": state["round"],
            "speaker": speaker,
            "sim_time_s": now_s,
            "part": part,
        }
        records[part] = spoken_turn(spoken, context)
        if not part:
            now_s += speaking_time_s(records[part].turn.text, context.parameters.speaking_rate_wpm)
    return records.pop(""), records
