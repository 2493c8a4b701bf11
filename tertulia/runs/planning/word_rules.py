"""When a run reads words by the extensions that are shipped (the room `rules`), if nothing else is chosen."""

from collections.abc import Container
from typing import TYPE_CHECKING

from tertulia.state.languages import DEFAULT
from tertulia.state.parameters import Parameters

if TYPE_CHECKING:
    from tertulia.runs.access.engines import Engines
    from tertulia.state.records import RunKind

#: The summed importance from which a person reflects if words rate it: as often as with 40 by a model (docs/towns.md).
_THRESHOLD = 20.0


def reading_addresses(parameters: Parameters, kind: "RunKind", given: Container[str]) -> Parameters:
    """Return the parameters of a meeting with the words that tell whom a line asks, unless `read_address` is given."""
    if kind != "group_chat" or "nodes.read_address" in given:
        return parameters
    return parameters.with_settings({"nodes.read_address": "asked_by_words"})


def rating_by_words(parameters: Parameters, engines: "Engines") -> Parameters:
    """Return the parameters of a town, in which words rate memories if its model can't and nothing else is chosen.

    A model can't that fills in no forms (`choices=probabilities`), and a stand-in. The words are English.
    """
    suited = engines.suited(engines.model, parameters)
    is_small = suited.choices == "probabilities" or engines.model.traits.rehearsed
    if is_small and parameters.language == DEFAULT and parameters.preset is None:
        nodes = {"rate_importance": "importance_by_words", **parameters.nodes}
        parameters = parameters.model_copy(update={"nodes": nodes})
    if parameters.nodes.get("rate_importance") != "importance_by_words" or parameters.reflection_threshold is not None:
        return parameters
    return parameters.with_settings({"reflection_threshold": _THRESHOLD})
