"""The next encounter of a town, and its conversation, which is a separate run. Source: Park et al. 2023; APP §2."""

import asyncio
import contextvars
from collections.abc import Iterator
from datetime import datetime, timedelta

from langgraph.runtime import Runtime

from tertulia.nodes.conversation.turns import speaking_time_s
from tertulia.nodes.town.diary import as_agreed, with_agreed
from tertulia.nodes.town.draw_encounters import encounters_of
from tertulia.state.case_seed import resolve_case_seed
from tertulia.state.context import Context
from tertulia.state.graph_state import TownState
from tertulia.state.parameters import Parameters
from tertulia.state.randomness import keyed_generator
from tertulia.state.records import Case, Dialogue, Participant, Utterance
from tertulia.state.town import PAST_KEPT, Encounter, TownContext


async def next_encounter(state: TownState, runtime: Runtime[TownContext]) -> TownState:
    """Let the next pair of the schedule meet; their conversation begins with their memories at that time."""
    town = runtime.context
    encounter = next(following(town, state["day"], state["number"]), None)
    if encounter is None:
        return {"finished": True}
    simulation = town.simulation
    if town.simulations.encounter(simulation.simulation, encounter.day, encounter.number) is None:
        encounter = as_agreed(town, encounter.model_copy(update={"time": _free_from(encounter, town)}))
        run = f"{simulation.simulation}-{encounter.day}-{encounter.number}"
        generator = keyed_generator(simulation.seed, round=encounter.day, node="encounter", attempt=encounter.number)
        town.store.create_run(town.record_of(run, generator.getrandbits(32)), start_of(encounter, town))
        town.simulations.save_encounter(simulation.simulation, encounter.model_copy(update={"run": run}))
    return {"day": encounter.day, "number": encounter.number}


async def converse(state: TownState, runtime: Runtime[TownContext]) -> TownState:
    """Drive the conversation to its end; an interrupted conversation is resumed."""
    context = runtime.context.context_of(encounter_of(runtime.context, state).run)
    # In a fresh context: otherwise LangGraph treats the conversation's graph as a subgraph of the town's.
    await asyncio.create_task(runtime.context.drive_conversation(context), context=contextvars.Context())
    return {}


def following(town: TownContext, day: int, number: int) -> Iterator[Encounter]:
    """Yield the encounters of the schedule after this one, to the end of the last day.

    Agreed ones are among them. People agree on the future: so these encounters come behind the past ones.
    """
    yield from with_agreed(town, day, planned(town, day))[number:] if day else ()
    for later in range(day + 1, town.simulation.days + 1):
        yield from with_agreed(town, later, planned(town, later))


def planned(town: TownContext, day: int) -> tuple[Encounter, ...]:
    """Return the encounters of a day in their order; only the last day that was asked for is kept."""
    if day not in town.planned:
        simulation = town.simulation
        parameters = Parameters.model_validate(simulation.parameters)
        seed = resolve_case_seed(parameters.case_seed, simulation.seed, town.town)
        town.planned.clear()
        town.planned[day] = encounters_of(town.town, day, seed, simulation.encounters_per_day, parameters.language)
    return town.planned[day]


def start_of(encounter: Encounter, town: TownContext) -> Case:
    """Return the case of a conversation: the pair with their streams as they are now, and their last dialogues."""
    people = [
        Participant(
            persona=town.town.resident(name).persona,
            memories=(),
            activity=activity,
            stream=town.simulations.stream(town.simulation, name),
        )
        for name, activity in zip(encounter.pair, encounter.activities, strict=True)
    ]
    return Case(
        scenario=town.town.name,
        time=encounter.time,
        place=encounter.place,
        appointment=encounter.appointment,
        initiator=people[0],
        partner=people[1],
        previous_dialogues=tuple(_previous(encounter, town)),
        withheld=town.town.withheld,
    )


def encounter_of(town: TownContext, state: TownState) -> Encounter:
    """Return the town's current encounter."""
    encounter = town.simulations.encounter(town.simulation.simulation, state["day"], state["number"])
    assert encounter is not None  # `next_encounter` stored it
    return encounter


def ended_s(context: Context) -> float:
    """Return how long a conversation took, in simulated seconds."""
    last = context.store.turns(context.run)[-1]
    return last.sim_time_s + speaking_time_s(last.text, context.parameters.speaking_rate_wpm)


def _free_from(encounter: Encounter, town: TownContext) -> datetime:
    """Return when the pair begins to talk: as planned, or a minute after an earlier conversation that took longer."""
    times = [encounter.time]
    for name in encounter.pair:
        stream = town.simulations.stream(town.simulation, name)
        last = town.store.remembered(stream, [stream.length])
        times += [memory.created + timedelta(minutes=1) for memory in last if memory.created >= encounter.time]
    return max(times)


def _previous(encounter: Encounter, town: TownContext) -> list[Dialogue]:
    """Return the previous dialogues of the pair, oldest first: from before the simulation, and in it."""
    dialogues = [*town.town.past_of(encounter.pair)]
    for earlier in town.simulations.last_encounters(town.simulation.simulation, encounter, PAST_KEPT):
        turns = town.store.turns(earlier.run)
        lines = tuple(Utterance(speaker=turn.speaker, text=turn.text) for turn in turns if turn.speaker)
        dialogues.append(Dialogue(time=earlier.time, utterances=lines))
    return dialogues[-PAST_KEPT:]
