"""What two agreed on in their conversation, entered in their days. No model is asked.

After a crash the node runs again and stores the same: it follows from the lines, and from what was agreed on before.
"""

from langgraph.runtime import Runtime

from tertulia.nodes.agreements.agreed import agreements_in
from tertulia.nodes.town.diary import entries_of
from tertulia.nodes.town.encounter import encounter_of
from tertulia.state.agreements import Entries
from tertulia.state.graph_state import TownState
from tertulia.state.town import TownContext


async def agree(state: TownState, runtime: Runtime[TownContext]) -> TownState:
    """Store what the pair agreed on, behind the last turn of their conversation; nothing where `agreements` is off."""
    town = runtime.context
    encounter = encounter_of(town, state)
    context = town.context_of(encounter.run)
    if not context.parameters.agreements:
        return {}
    turns = context.store.turns(context.run)
    agreements = agreements_in(turns, encounter.time, context.parameters.language)
    entries = entries_of(agreements, encounter, town.town, town.diary)
    if entries:
        town.simulations.save_agreed(context.run, len(turns) + 1, Entries(entries=entries))
        town.diary.enter(encounter.run, entries)
    return {}
