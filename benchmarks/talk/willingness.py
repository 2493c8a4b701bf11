"""Who gets to want to speak: meetings of many seeds, rehearsed or spoken by a model (`benchmarks.talk.willingness`).

For every shipped meeting: the longest time, in rounds, that anybody who was there was not willing; the evenness of the
utterances; what made the speakers willing; and how often the next speaker was one who had been asked by name, one who
had not, and one who was only talked about, beside chance (one of those there who had not just spoken).

Examples:
    python -m benchmarks.talk.willingness --rounds 60
    python -m benchmarks.talk.willingness --rounds 60 --set willingness=computed
    python -m benchmarks.talk.willingness --rounds 10 --seeds 2 --model smollm2 --workers 1
"""

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path

from support.meeting_behaviour import Behaviour, observe

from tertulia.metrics.participation import evenness
from tertulia.models.local.embedded import ID as EMBEDDED

MEETINGS = ("team_building", "ferry_timetable", "mothers_house")


def behaviour(
    scenario: str, seed: int, rounds: int, settings: Mapping[str, str] | None = None, model: str | None = None
) -> Behaviour:
    """Return how a run of a meeting goes that a model speaks; a rehearsed one without a model."""
    import tertulia
    from tertulia.storage.store import SqlStore

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "willingness.db"
        run = tertulia.run(
            scenario, model=model or EMBEDDED, seed=seed, rounds=rounds, rehearse=model is None, store=path,
            progress=False, settings=settings or {},
        )  # fmt: skip
        with SqlStore.open(path, create=False) as store:
            return observe(store, run.id)


def table(scenario: str, seen: list[Behaviour]) -> Iterator[str]:
    """Yield the figures of the runs of a meeting."""
    agents = {agent for run in seen for agent in run.spoken}
    worst = max((run.unwilling.get(agent, 0), agent) for run in seen for agent in agents)
    even = sorted(evenness(list(run.spoken.values())) or 0.0 for run in seen)
    rounds = sum(run.rounds for run in seen)
    yield f"{scenario}: {len(seen)} runs, {rounds} rounds"
    yield f"  longest without willingness: {worst[0]} rounds ({worst[1]})"
    yield f"  evenness: {even[0]:.2f} to {even[-1]:.2f}, median {even[len(even) // 2]:.2f}"
    reasons = sum((run.reasons for run in seen), Counter())
    yield "  willing: " + ", ".join(
        f"{count / reasons.total():.0%} {reason}" for reason, count in reasons.most_common()
    )
    for agent in sorted(agents):
        spoken, wanted = (sum(getattr(run, of).get(agent, 0) for run in seen) for of in ("spoken", "wanted"))
        longest = max(run.unwilling.get(agent, 0) for run in seen)
        yield f"    {agent:16} spoke in {spoken / rounds:.0%}, wanted to in {wanted / rounds:.0%}, longest {longest}"
    if asked := sum(run.asked for run in seen):
        others = sum(run.others for run in seen)
        taken = sum(run.asked_next for run in seen) / asked
        by_others = sum(run.others_next for run in seen) / max(1, others)
        yield f"  next to speak: {taken:.0%} of {asked} who were asked by name, {by_others:.0%} of {others} others"
    if named := sum(run.named for run in seen):
        taken, by_chance = (sum(getattr(run, of) for run in seen) / named for of in ("named_next", "by_chance"))
        yield f"  next to speak: {taken:.0%} of {named} who were only talked about, {by_chance:.0%} by chance"


def main() -> None:
    """Print the figures of every meeting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--model", help="who speaks; by default it is rehearsed")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("scenarios", nargs="*", default=MEETINGS)
    given = parser.parse_args()
    settings = dict(setting.split("=", 1) for setting in given.set)
    with ProcessPoolExecutor(given.workers) as pool:
        for scenario in given.scenarios:
            seeds = range(1, given.seeds + 1)
            runs = pool.map(
                behaviour, repeat(scenario), seeds, repeat(given.rounds), repeat(settings), repeat(given.model)
            )
            seen = list(runs)
            print("\n".join(table(scenario, seen)), flush=True)


if __name__ == "__main__":
    main()
