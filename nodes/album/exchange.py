"""The beginning and the end of an exchange, and the moment at which the partner takes over."""

from langgraph.runtime import Runtime

from tertulia.nodes.album.album_prompts import save_prompt_of
from tertulia.nodes.album.belongings import belongings_after
from tertulia.nodes.album.find_picture import outcome_of
from tertulia.nodes.utterance.candidates import candidate_at
from tertulia.state.album import Exchange
from tertulia.state.context import Context
from tertulia.state.graph_state import ExchangeState


async def meet(state: ExchangeState, runtime: Runtime[Context]) -> ExchangeState:
    """Let the two meet: the asker looks through their album, and is asked for a plan."""
    asker = state["asker"]
    prompt = save_prompt_of(state, runtime.context, "plan", asker)
    return {"part": "plan", "speaker": asker, "present": [asker, state["answerer"]], "prompt": prompt}


async def hand_over(state: ExchangeState, runtime: Runtime[Context]) -> ExchangeState:
    """Let the partner take over: they are asked the question."""
    context, answerer = runtime.context, state["answerer"]
    question = candidate_at(context, state["turn"], state["chosen"]).text
    context.broker.hand_over(state["asker"], answerer)
    return {
        "part": "answer",
        "speaker": answerer,
        "prompt": save_prompt_of(state, context, "answer", answerer, state["picture"], question),
        "utterances": {**state["utterances"], "": outcome_of(state)},
    }


async def remember_exchange(state: ExchangeState, runtime: Runtime[Context]) -> ExchangeState:
    """Let both remember the exchange, and the picture pass into the answerer's album, if it is to."""
    context, turn = runtime.context, state["turn"]
    asker, answerer, parameters = state["asker"], state["answerer"], context.parameters
    received = state["picture"] if parameters.pass_pictures else None
    before = state["belongings"]
    of_asker, _ = belongings_after(before[asker], turn, None, parameters)
    of_answerer, dropped = belongings_after(before[answerer], turn, received, parameters)
    exchange = Exchange(
        asker=asker,
        answerer=answerer,
        picture=state["picture"],
        found=state["found"],
        similarity=state["similarity"],
        sight=state["sight"],
        passed=of_answerer["album"] != before[answerer]["album"],
        dropped=dropped,
    )
    context.broker.leave(answerer)
    return {
        "belongings": {asker: of_asker, answerer: of_answerer},
        "exchanges": {
            str(turn): {
                "exchange": exchange.model_dump(mode="json"),
                "utterances": {**state["utterances"], "answer": outcome_of(state)},
            }
        },
    }
