"""How close scores are to the mean over 24 responses: fresh and carried ones (`python -m benchmarks.carried`).

The prompts are those of a dialogue of the shipped town. Compared are the ranks of the removable units (Spearman), and
what Algorithm 1 would remove (Jaccard), as in `benchmarks.surrogate`. No response is in two of the sets.
"""

import asyncio
import random
import statistics
import sys

from scipy.stats import spearmanr

from benchmarks.dialogue import prompts_of_dialogue
from benchmarks.surrogate import FACTORS
from tertulia.cli.environment import cache_folder
from tertulia.models.loading import open_embedder, open_model
from tertulia.models.local.causal import CausalLanguageModel
from tertulia.nodes.scorers.attention import carried_scores
from tertulia.nodes.utterance.generate import utterance_request
from tertulia.nodes.utterance.prune import prune_units
from tertulia.state.language_model import ScoringOptions
from tertulia.state.parameters import Parameters
from tertulia.state.records import Prompt

MEAN_OVER, DECAYS = 24, (0.25, 0.5, 1.0)


def main(turns: int) -> None:
    """Print the table."""
    model = open_model("smollm2", cache=cache_folder())
    assert isinstance(model, CausalLanguageModel)
    parameters = model.traits.resolve(Parameters().with_settings({"max_turns": turns, "ending": "off"}))
    prompts = prompts_of_dialogue(model, open_embedder("minilm"), parameters)
    rows: dict[str, list[list[float]]] = {}
    before: dict[str, tuple[Prompt, dict[str, float]]] = {}
    for number, prompt in enumerate(prompts):

        def scores(responses: int, name: str, prompt: Prompt = prompt, number: int = number) -> dict[str, float]:
            draws = tuple(random.Random(f"{name} {number} {row}") for row in range(responses))
            request = utterance_request(prompt, draws, model.tokenizer, parameters)
            return asyncio.run(model.generate_scored(request, ScoringOptions()))[1]

        expected = scores(MEAN_OVER, "mean")
        found = {f"{n} fresh": scores(n, f"fresh {n}") for n in (3, 1)}
        for decay in DECAYS:
            for fresh in (3, 1):
                name = f"{fresh} fresh, carried {decay:g}"
                old_prompt, old = before.get(f"{prompt.speaker} {name}", (prompt, {}))
                texts = {unit.id: unit.text for unit in old_prompt.units}
                same = {u.id: old[u.id] for u in prompt.units if u.id in old and texts[u.id] == u.text}
                found[name] = carried_scores(found[f"{fresh} fresh"], same, decay)
                before[f"{prompt.speaker} {name}"] = prompt, found[name]
        if number >= 2:  # something was carried
            for name, values in found.items():
                rows.setdefault(name, []).append(agreement(prompt, expected, values))
    print(f"{len(prompts) - 2} prompts; scores, ρ, overlap of removed sets at {', '.join(map(str, FACTORS))}")
    for name, figures in rows.items():
        print(name, *(f"{statistics.mean(values):.3f}" for values in zip(*figures, strict=True)), sep=" | ")


def agreement(prompt: Prompt, expected: dict[str, float], found: dict[str, float]) -> list[float]:
    """Return Spearman's ρ over removable units, and the overlap of the removed sets at each λ."""
    units = [unit.id for unit in prompt.units if unit.removable]
    figures = [float(spearmanr([expected[u] for u in units], [found[u] for u in units]).statistic)]
    for factor in FACTORS:
        first, second = (set(prune_units(prompt.units, scores, factor)) for scores in (expected, found))
        figures.append(len(first & second) / max(1, len(first | second)))
    return figures


if __name__ == "__main__":
    main(int((sys.argv[1:] or ["8"])[0]))
