"""The likelihood judge centred, and not: `python -m benchmarks.judge_centre [MODEL] [--store FILE ...] [--pairs]`.

* *First candidates* of the turns that stand in a store, whose replies are drawn at λ: the figure as it is, centred by
  the divergence (tokens at temperature 1), and centred by what is expected of tokens as they were drawn (tempered, in
  the nucleus), which is what the judge takes. Where nothing is contradicted, what is above θ is a false alarm; θ is
  what one in ten exceeds.
* *Pairs* (`contradictions.jsonl`): two openings of a case of the shipped town, one in line with something that its
  speaker knows, one against it, of one length and style. The area under the curve, 0.5 by chance, where that alone is
  removed; where it is with all that goes at λ = 0.5; and where something else is removed, of which neither speaks.

Make a store of first candidates with `tertulia run CASE --lambda 0.5 --rounds 5 --set revision=off --store FILE`.
"""

import argparse
import asyncio
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.calibrate import area_under_curve, auc_interval, context_of
from benchmarks.first_lines import first_prompt, removed_at
from tertulia.cli.environment import cache_folder
from tertulia.models.loading import open_embedder, open_model
from tertulia.models.local.causal import CausalLanguageModel
from tertulia.nodes.utterance.generate import temperature_of, written_reply
from tertulia.prompts.assemble import reply_prefix_of
from tertulia.prompts.remove import remove_units, removed_with_blocks
from tertulia.prompts.render import render
from tertulia.state.language_model import Embedder
from tertulia.state.parameters import Parameters
from tertulia.state.questions import Sampling
from tertulia.state.records import Case, Prompt, Reply
from tertulia.storage.store import SqlStore
from tertulia.worlds.catalog import resolve

PAIRS = Path(__file__).parent / "contradictions.jsonl"

FIGURES = ("as it is", "centred, T = 1", "centred, as drawn")

#: The share of first candidates that contradict nothing, and are above θ.
_FALSE_ALARMS = 0.1


def figures(
    model: CausalLanguageModel, full: Prompt, removed: Sequence[str], reply: Reply, parameters: Parameters
) -> list[float]:
    """Return the figures of a reply in nats a token, in the order of `FIGURES`."""
    pruned = remove_units(full, removed)
    shown = [render(prompt, model.tokenizer, reply_prefix_of(full)) for prompt in (pruned, full)]
    sampling = Sampling(temperature_of(pruned, parameters), parameters.top_p, parameters.min_p)
    first, past_last = reply.text_tokens
    asked = model.token_figures(shown[0], [reply.tokens[:past_last]], shown[1], sampling=sampling)
    (found,) = asyncio.run(asked)
    gains = (np.array(found.log_likelihoods) - np.array(found.other_log_likelihoods))[first:]
    centres = (0.0, np.array(found.divergences)[first:], np.array(found.expected)[first:])
    return [float((gains - centre).mean()) for centre in centres]


def first_candidates(model: CausalLanguageModel, store: SqlStore) -> Iterator[tuple[str, list[float]]]:
    """Yield the text of the first candidate of each turn of a store in which something was removed, and its figures."""
    for run in store.runs():
        parameters = Parameters.model_validate(run.parameters)
        for turn in store.turns(run.run):
            record = store.turn_record(run.run, turn.turn)
            if record.prompt is None or not record.removed:
                continue
            (candidate,) = [each for each in store.candidates(run.run, turn.turn) if each.attempt == 0]
            full = store.prompt(record.prompt)
            yield candidate.text, figures(model, full, record.removed, candidate.reply, parameters)


def pair_figures(
    model: CausalLanguageModel, embedder: Embedder, pairs: Sequence[dict[str, Any]], parameters: Parameters
) -> dict[str, list[tuple[list[float], list[float]]]]:
    """Return for each way of removing, by pair, the figures of what agrees and of what contradicts."""
    found: dict[str, list[tuple[list[float], list[float]]]] = {"the fact": [], "all at λ = 0.5": [], "another": []}
    cases: dict[int, tuple[Case, Prompt, tuple[str, ...]]] = {}
    for pair in pairs:
        if pair["case"] not in cases:
            case = resolve(f"tidewell:{pair['case']}")
            assert isinstance(case, Case)
            full = first_prompt(model, embedder, case, 1, parameters)
            cases[pair["case"]] = case, full, removed_with_blocks(full, removed_at(model, full, 0.5, 1, parameters))
        case, full, at_half = cases[pair["case"]]
        other = next(each for each in pairs if each["case"] == pair["case"] and each is not pair)
        fact, foreign = _unit_with(full, pair["fact"]), _unit_with(full, other["fact"])
        context = context_of(model, embedder, case, parameters)
        replies = [written_reply(full, pair[way], None, context) for way in ("agrees", "contradicts")]
        for name, removed in (
            ("the fact", [fact]),
            ("all at λ = 0.5", sorted({fact, *at_half})),
            ("another", [foreign]),
        ):
            agrees, contradicts = (figures(model, full, removed, reply, parameters) for reply in replies)
            found[name].append((agrees, contradicts))
    return found


def _unit_with(prompt: Prompt, text: str) -> str:
    """Return the unit of a prompt that says this; an earlier dialogue may say it too."""
    (found,) = [unit.id for unit in prompt.units if text in unit.text and unit.block != "previous_dialogues"]
    return found


def main() -> None:
    """Print the figures of first candidates and of pairs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model", nargs="?", default="smollm2")
    parser.add_argument("--store", nargs="*", default=[])
    parser.add_argument("--pairs", action="store_true")
    parser.add_argument("--lines", action="store_true", help="print what was said, with its figures")
    options = parser.parse_args()
    model, embedder = open_model(options.model, cache=cache_folder()), open_embedder("minilm")
    assert isinstance(model, CausalLanguageModel)
    for address in options.store:
        with SqlStore.open(address) as store:
            lines = list(first_candidates(model, store))
        values = np.array([of_line for _, of_line in lines])
        for text, of_line in lines if options.lines else []:
            print(*(f"{value:+.3f}" for value in of_line), text)
        for name, of_figure in zip(FIGURES, values.T, strict=True):
            error = of_figure.std(ddof=1) / len(of_figure) ** 0.5
            quantiles = ", ".join(f"{q:.0%} {np.quantile(of_figure, q):+.3f}" for q in (0.1, 0.5, 0.75, 0.9))
            print(
                f"{address}, {len(of_figure)} first candidates, {name}: mean {of_figure.mean():+.3f} ± {error:.3f}, "
                f"{(of_figure > 0).mean():.0%} above 0, {quantiles}; θ {np.quantile(of_figure, 1 - _FALSE_ALARMS):+.3f}"
            )
    if options.pairs:
        pairs = [json.loads(line) for line in PAIRS.read_text(encoding="utf-8").splitlines()]
        parameters = model.traits.resolve(Parameters()).model_copy(update={"ending": "off"})
        for removed, of_pairs in pair_figures(model, embedder, pairs, parameters).items():
            for at, name in enumerate(FIGURES):
                agrees, contradicts = ([pair[way][at] for pair in of_pairs] for way in (0, 1))
                low, high = auc_interval(agrees, contradicts)
                print(
                    f"{len(pairs)} pairs, removed: {removed}; {name}: area {area_under_curve(agrees, contradicts):.2f} "
                    f"[{low:.2f}, {high:.2f}], means {np.mean(agrees):+.3f} and {np.mean(contradicts):+.3f}"
                )


if __name__ == "__main__":
    main()
