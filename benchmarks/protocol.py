"""A group chat with a model on a server that is slow and fails: `python -m benchmarks.protocol`.

1. A meeting of 20 rounds against a small local server (`tests/support/protocol_server.py`), each answer 200 ms late,
   one request in ten failing (429, 500, cut, no JSON, half of it). Its wall time is compared with the longest chain:
   the calls of a round that can only be made one after another, summed over the rounds.
2. The same run by the command line, killed with `kill -9` when the server has answered so many requests and holds the
   others, and resumed each time: how many answers were given twice.
3. The same, killed at random moments, with answers on their way.
"""

import asyncio
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from langgraph.checkpoint.memory import InMemorySaver
from rich.console import Console
from rich.table import Table

from tertulia.models.loading import open_embedder
from tertulia.models.served.chat import open_chat_model
from tertulia.runs.access.engines import Engines
from tertulia.runs.driving.conversation import drive
from tertulia.runs.planning.starting import begin_with, plan_run
from tertulia.state.cognition import Call
from tertulia.state.context import Context
from tertulia.storage.store import SqlStore
from tests.support.protocol_server import Served, serving

ROUNDS = 20
LATENCY_S = 0.2
FAILURES = 0.1
#: Answers after which a run is killed, while all other requests are held.
KILLED_AT = (10, 60, 130, 200)
RANDOM_KILLS = 6

#: Steps of an agent's cognition that come one after another; mechanisms run side by side between them.
_BEFORE, _AFTER = ("perceive", "choose_mechanisms"), ("assess", "bid")
_SPEAKING = ("score", "generate", "judge", "decide_ending")


def main() -> None:
    """Print the tables."""
    console = Console(width=110, highlight=False)
    table = Table("figure", "no failures", "one in ten fails", title=f"{ROUNDS} rounds, {LATENCY_S:g} s an answer")
    columns = [asyncio.run(held(rate)) for rate in (0.0, FAILURES)]
    for name in columns[0]:
        table.add_row(name, *(column[name] for column in columns))
    console.print(table)
    table = Table("killed", "kills", "calls", "answers", "answers given twice", title="kill -9 and resume")
    for name, row in (("while nothing is on its way", killed_when_held()), ("at random moments", killed_at_random())):
        table.add_row(name, *map(str, row))
    console.print(table)


async def held(failure_rate: float) -> dict[str, str]:
    """Hold the meeting and return its figures."""
    with serving(failure_rate=failure_rate, latency_s=LATENCY_S) as served, SqlStore.open(":memory:") as store:
        context = a_context(served, store)
        started = time.perf_counter()
        await drive(context, InMemorySaver())
        wall_s = time.perf_counter() - started
        calls = store.calls(context.run)
        rounds = [[call for call in calls if call.round == number] for number in range(ROUNDS + 1)]
        chain_s = sum(map(longest_chain_s, rounds))
        at_best = [
            [call.model_copy(update={"seconds": LATENCY_S}) for call in calls_of_round] for calls_of_round in rounds
        ]
        least_s = sum(map(longest_chain_s, at_best))
        return {
            "turns": str(len(store.turns(context.run))),
            "calls": str(len(calls)),
            "requests": str(len(served.requests)),
            "most at once": str(served.most_at_once),
            "calls one after another, s": f"{sum(call.seconds or 0 for call in calls):.1f}",
            "longest chain, s": f"{chain_s:.1f}",
            "wall time, s": f"{wall_s:.1f}",
            "wall time / longest chain (target ≤ 1.5)": f"{wall_s / chain_s:.2f}",
            "wall time / that chain if each call took 200 ms": f"{wall_s / least_s:.2f}",
        }


def a_context(served: Served, store: SqlStore) -> Context:
    """Return a new run of the shipped meeting; its embedder takes no time."""
    settings = {"max_turns": ROUNDS, "max_minutes": None, "removal_factor": 0, "max_concurrency": 32}
    plan = plan_run("team_building", settings, model=served.model)
    engines = Engines(open_chat_model(plan.model, plan.parameters, None), {}, open_embedder("rehearsal"))
    return begin_with(store, plan, engines)


def longest_chain_s(calls: Sequence[Call]) -> float:
    """Return the time of the calls of a round that could only be made one after another."""
    steps: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    speaking: dict[str, float] = defaultdict(float)
    for call in calls:
        if call.node in _SPEAKING:  # the replies of one step are asked for side by side
            speaking[call.node] = max(speaking[call.node], call.seconds or 0)
        else:
            steps[call.agent][call.node] += call.seconds or 0
    thinking = [
        sum(s for node, s in seconds.items() if node in (*_BEFORE, *_AFTER))
        + max((s for node, s in seconds.items() if node not in (*_BEFORE, *_AFTER)), default=0)
        for seconds in steps.values()
    ]
    return max(thinking, default=0) + sum(speaking.values())


def killed_when_held() -> tuple[int, int, int, int]:
    """Kill a run whenever all that it asks is held; return kills, calls, answers, and those given twice."""
    with serving(latency_s=0.02, failure_rate=FAILURES) as served, tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tertulia.db"
        for kills, answers in enumerate((*KILLED_AT, None)):
            served.hold_from = answers
            process = start_run(served, file, kills)
            while answers is not None and process.poll() is None:
                time.sleep(0.05)
                if served.held and served.is_held(stored(file)):
                    process.kill()
            process.wait()
        return len(KILLED_AT), stored(file), sum(served.answered.values()), served.paid_twice


def killed_at_random() -> tuple[int, int, int, int]:
    """Kill a run at random moments; return kills, calls, answers, and those given twice."""
    moments, kills = random.Random(1), 0
    with serving(latency_s=0.1, failure_rate=FAILURES) as served, tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tertulia.db"
        for attempt in range(RANDOM_KILLS + 1):
            process = start_run(served, file, attempt)
            before = sum(served.answered.values())
            while attempt < RANDOM_KILLS and process.poll() is None and sum(served.answered.values()) < before + 5:
                time.sleep(0.05)
            if attempt < RANDOM_KILLS and process.poll() is None:
                time.sleep(moments.uniform(0, 3))
                kills += process.poll() is None
                process.kill()
            process.wait()
        return kills, stored(file), sum(served.answered.values()), served.paid_twice


def start_run(served: Served, file: Path, attempt: int) -> subprocess.Popen[bytes]:
    """Start the run by the command line, or resume it."""
    first = ("run", "team_building", "--model", served.model, "--lambda", "0", "--rounds", str(ROUNDS))
    arguments = ("resume", "@last") if attempt else first
    command = [sys.executable, "-m", "tertulia.cli.main", *arguments, "--store", str(file)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def stored(file: Path) -> int:
    """Return how many calls are in the journal."""
    if not file.exists():
        return 0
    with SqlStore.open(file, create=False) as store:
        return sum(len(store.calls(run.run)) for run in store.runs())


if __name__ == "__main__":
    main()
