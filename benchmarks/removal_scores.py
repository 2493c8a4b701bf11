"""Which score should λ remove by: how far a model moves when as many tokens go, by each score, and by chance.

Run by hand, from the root, with stored runs of a local model (`tertulia sweep … --name NAME`):

    python -m benchmarks.removal_scores NAME --store FILE [--prompts 48] [--out FIGURES.json]

1. Prompts are those of spoken lines, in full, evenly drawn over sources and cases.
2. Responses are drawn as for λ. Each reducer scores every removable unit over the same ones; beside them stand the
   units' lengths and two draws by chance.
3. At 25, 50 and 75 % of the removable tokens units go, the highest score first, as long as they fit (Algorithm 1's
   walk over tokens in the place of scores). So all ways remove equally much.
4. KL(full ‖ pruned) is the mean over the tokens of two fresh responses to the full prompt, in nats a token. Prompts of
   a case are averaged, intervals and tests are over sources (`tertulia/metrics/statistics.py`).
"""

import argparse
import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from tertulia.lab.annotations.ablations import AblatedLine, evenly_drawn
from tertulia.lab.experiments.results import read_results
from tertulia.lab.experiments.sources import source_of
from tertulia.metrics.inference import holm
from tertulia.metrics.statistics import CaseFigure, case_mean, paired_difference
from tertulia.models.local.causal import CausalLanguageModel
from tertulia.nodes.scorers.attention import scoring_request
from tertulia.nodes.utterance.requests import utterance_request
from tertulia.prompts.remove import remove_units
from tertulia.runs.access.engines import ModelAccess
from tertulia.state.language_model import ScoringOptions
from tertulia.state.parameters import Parameters, Reducer
from tertulia.state.randomness import keyed_generator
from tertulia.state.records import Prompt
from tertulia.storage.store import SqlStore

REDUCERS: tuple[Reducer, ...] = ("sum-mean", "learned", "beyond-neutral", "capped")
CHANCE = ("random", "random again")
SHARES = (0.25, 0.5, 0.75)
FRESH = 2

Scores = Mapping[str, float]


def scored(model: CausalLanguageModel, prompt: Prompt, line: AblatedLine) -> dict[str, Scores]:
    """Return the scores of a prompt's units by each way, over the same responses."""
    parameters = line.line.parameters
    generators = tuple(
        keyed_generator(line.record.seed, round=line.line.turn, agent=line.line.speaker, node="removal scores", row=row)
        for row in range(parameters.scoring_responses)
    )
    asked = scoring_request(prompt, generators, model, parameters)
    rendered = asked.request.prompt
    replies = asyncio.run(model.generate(asked.request))
    found: dict[str, Scores] = {}
    for reducer in REDUCERS:
        options = ScoringOptions(reducer, layers=asked.options.layers)
        of_replies = asyncio.run(model.score(rendered, [reply.tokens for reply in replies], options))
        found[reducer] = {unit: fmean(scores[unit] for scores in of_replies) for unit in rendered.token_spans}
    found["length"] = {unit: float(end - start) for unit, (start, end) in rendered.token_spans.items()}
    for way in CHANCE:
        draw = keyed_generator(line.record.seed, round=line.line.turn, agent=line.line.speaker, node=way)
        found[way] = {unit: draw.random() for unit in rendered.token_spans}
    return found


def removed_units(prompt: Prompt, scores: Scores, tokens: Mapping[str, float], share: float) -> list[str]:
    """Return the units that go, the highest score first, so that at most a share of the removable tokens goes."""
    removable = [unit.id for unit in prompt.units if unit.removable]
    room = share * sum(tokens[unit] for unit in removable)
    gone: list[str] = []
    for unit in sorted(removable, key=lambda unit: -scores[unit]):
        if tokens[unit] <= room:
            room -= tokens[unit]
            gone.append(unit)
    return gone


def measured(model: CausalLanguageModel, store: SqlStore, line: AblatedLine) -> dict[str, Any]:
    """Return by way and share the KL of a prompt, and the share of tokens that went."""
    prompt, parameters = store.prompt(line.line.full), line.line.parameters
    scores = scored(model, prompt, line)
    generators = tuple(
        keyed_generator(line.record.seed, round=line.line.turn, agent=line.line.speaker, node="fresh", row=row)
        for row in range(FRESH)
    )
    request = utterance_request(prompt, generators, model.tokenizer, parameters)
    fresh = [reply.tokens[: reply.text_tokens[1]] for reply in asyncio.run(model.generate(request))]
    tokens = scores["length"]
    total = sum(tokens[unit.id] for unit in prompt.units if unit.removable)
    found: dict[str, Any] = {"case": line.case, "run": line.line.run, "turn": line.line.turn, "kl": {}, "tokens": {}}
    known: dict[tuple[str, ...], float] = {}
    for way, of_units in scores.items():
        for share in SHARES:
            gone = removed_units(prompt, of_units, tokens, share)
            key = tuple(sorted(gone))
            if key not in known:
                pruned = utterance_request(remove_units(prompt, gone), (), model.tokenizer, parameters).prompt
                figures = asyncio.run(model.token_figures(request.prompt, fresh, pruned))
                known[key] = fmean(value for each in figures for value in each.divergences)
            found["kl"][f"{way} {share}"] = known[key]
            found["tokens"][f"{way} {share}"] = sum(tokens[unit] for unit in gone) / total
    return found


def samples(prompts: Sequence[Mapping[str, Any]], key: str, what: str) -> dict[str, CaseFigure]:
    """Return a figure by case: the mean over its prompts."""
    by_case: dict[str, list[float]] = {}
    for prompt in prompts:
        by_case.setdefault(prompt["case"], []).append(_value(prompt[what], key))
    return {case: CaseFigure(fmean(of), len(of), source=source_of(case)) for case, of in by_case.items()}


def _value(found: Mapping[str, float], key: str) -> float:
    way, _, share = key.rpartition(" ")
    return fmean(found[f"{each} {share}"] for each in (CHANCE if way == "chance" else (way,)))


def print_figures(prompts: Sequence[Mapping[str, Any]]) -> None:
    """Print KL by way and share, and what is more than chance, and than Eq. 1, with p-values (Holm)."""
    print(f"{len(prompts)} prompts, {len({prompt['case'] for prompt in prompts})} cases")
    ways = (*REDUCERS, "length", "chance")
    print("| removed by | share | tokens | KL, nats a token |\n|---|---|---|---|")
    for way in ways:
        for share in SHARES:
            kl, went = (case_mean(samples(prompts, f"{way} {share}", what)) for what in ("kl", "tokens"))
            print(f"| {way} | {share} | {went.value:.2f} | {kl.value:.3f} [{kl.ci_low:.3f}, {kl.ci_high:.3f}] |")
    pairs = [
        (way, base)
        for base in ("chance", "sum-mean")
        for way in ways
        if way != base and (base, way) != ("sum-mean", "chance")
    ]
    tests = {
        (way, base, share): paired_difference(
            samples(prompts, f"{way} {share}", "kl"), samples(prompts, f"{base} {share}", "kl")
        )
        for way, base in pairs
        for share in SHARES
    }
    adjusted = holm([test.p if test.p is not None else 1.0 for test in tests.values()])
    print("\n| removed by | more than | share | difference | p | p (Holm) |\n|---|---|---|---|---|---|")
    for ((way, base, share), test), p in zip(tests.items(), adjusted, strict=True):
        interval = f"[{test.ci_low:+.3f}, {test.ci_high:+.3f}]"
        print(f"| {way} | {base} | {share} | {test.value:+.3f} {interval} | {test.p:.4f} | {p:.4f} |")


def main() -> None:
    """Measure what is missing, keep it in a file, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="an experiment of the store")
    parser.add_argument("--store", required=True)
    parser.add_argument("--prompts", type=int, default=48)
    parser.add_argument("--out", type=Path, default=Path("removal_scores.json"))
    options = parser.parse_args()
    found: list[dict[str, Any]] = json.loads(options.out.read_text()) if options.out.exists() else []
    with SqlStore.open(options.store) as store:
        runs = [(each.case, each.run) for each in read_results(store, options.name).runs]
        lines = evenly_drawn(store, runs, source_of, options.prompts)
        name = runs[0][1].model
        model = ModelAccess().naming([name]).language_model(name, Parameters())
        assert isinstance(model, CausalLanguageModel)
        known = {(each["run"], each["turn"]) for each in found}
        for number, line in enumerate(lines, 1):
            if (line.line.run, line.line.turn) not in known:
                found.append(measured(model, store, line))
                options.out.write_text(json.dumps(found))
                print(f"prompt {number} of {len(lines)}", flush=True)
    print_figures(found)


if __name__ == "__main__":
    main()
