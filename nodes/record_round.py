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
    context, last = runtime.context, state["turn"] + len(state["pairs"])
    with context.store.transaction():
        for turn in sorted(map(int, state["exchanges"])):
            outcome = state["exchanges"][str(turn)]
            exchange = Exchange.model_validate(outcome["exchange"])
            question, parts = _records(state, turn, exchange, outcome, context)
            context.store.save_step(context.run, turn, "", "exchange", exchange)
            context.store.save_turn(context.run, question, parts)
            keep_exchange(context, turn, exchange, question.turn.text, parts["answer"].turn.text)
    now_s = end_of_round_s(context, state["turn"] + 1, last)
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


def end_of_round_s(context: Context, first: int, last: int) -> float:
    """Return when the longest exchange of a round is over, in seconds since the first round began.

    Args:
        context: The run.
        first, last: The turns of the round; they are stored.
    """
    store, run, rate = context.store, context.run, context.parameters.speaking_rate_wpm
    questions = store.turns(run, first, last)
    answers = {turn: answer for (turn, part), answer in store.part_turns(run, first, last).items() if part == "answer"}
    spoken_s = (
        sum(speaking_time_s(words.text, rate) for words in (question, answers[question.turn])) for question in questions
    )
    return questions[0].sim_time_s + max(spoken_s)


def _records(
    state: AlbumState, turn: int, exchange: Exchange, outcome: ExchangeOutcome, context: Context
) -> tuple[TurnRecord, dict[str, TurnRecord]]:
    """Return how the question came about, and the plan before it and the answer behind it."""
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
    return records.pop(""), records
