"""Hundreds of requests in flight: `python -m benchmarks.speed.served --latency 5 10 20`.

A cohort of dialogues is driven side by side against a small server in a process of its own
(`tests/support/protocol_server.py`), whose answers come late, and of which one in ten fails (429, 500, cut, no JSON,
half of it). For each latency, in a process of its own:

* the *ideal*: the longest of the dialogues' chains, each the sum of what its calls must take: the latency of every
  request, those that fail included, and the waits before retries. No way to drive them could be faster;
* wall time and its ratio to that, from the first dialogue's start to the end of the last;
* CPU time a call, of the whole process, and of the thread that talks to the server;
* the most requests in flight, and the answers that were given twice;
* memory, a quarter of the way through and at its highest.

`--servers 3` spreads the load, `--embedder rehearsal` leaves out what embedding costs, which depends on the texts.
"""

import argparse
import asyncio
import multiprocessing
import os
import resource
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from contextvars import ContextVar
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from support.protocol_server import serving

import tertulia.runs.driving.conversation
from tertulia.lab.experiments.experiment import Experiment, checked
from tertulia.lab.experiments.running import InProcessExecutor, run_experiment
from tertulia.models import loading
from tertulia.models.served import remote_requests
from tertulia.models.served.chat_errors import wait_s
from tertulia.models.served.remote_requests import RemoteRequests, event_loop
from tertulia.runs.access.engines import ModelAccess
from tertulia.runs.driving.events import Event, RunStarted
from tertulia.storage.store import SqlStore

_RUN: ContextVar[str] = ContextVar("run")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--latency", type=float, nargs="+", default=[0.2, 1.0, 2.0, 5.0])
    parser.add_argument("--dialogues", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--failures", type=float, default=0.1)
    parser.add_argument("--servers", type=int, default=1)
    parser.add_argument("--embedder", choices=("minilm", "rehearsal"), default="minilm")
    chosen = parser.parse_args()
    columns = [_in_a_process(measured, latency, chosen) for latency in chosen.latency]
    table = Table("figure", *(f"{latency:g} s" for latency in chosen.latency))
    for name in columns[0]:
        table.add_row(name, *(column[name] for column in columns))
    Console(width=110, highlight=False).print(table)


def _in_a_process(function: Callable[..., None], *arguments: Any) -> Any:
    """Return what a function sends, in a process that begins with nothing."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=function, args=(there, *arguments))
    process.start()
    there.close()
    try:
        return here.recv()
    except EOFError:
        sys.exit("the process that was measured has died")
    finally:
        process.join()


def serve(pipe: Connection, servers: int, latency_s: float, failures: float) -> None:
    """Serve, send the model's name, and, when asked, what came; then end."""
    with ExitStack() as stack:
        served = [
            stack.enter_context(serving(latency_s=latency_s, failure_rate=failures, retry_after="1"))
            for _ in range(servers)
        ]
        pipe.send(f"{','.join(server.address for server in served)}#parrot")
        pipe.recv()
        answered = sum((server.answered for server in served), Counter[str]())
        pipe.send(
            {
                "requests": sum(len(server.requests) for server in served),
                "most in flight": sum(server.most_at_once for server in served),
                "answers": sum(answered.values()),
                "answers given twice": sum(answered.values()) - len(answered),
            }
        )


def measured(pipe: Connection, latency_s: float, chosen: argparse.Namespace) -> None:
    """Drive the cohort and send its figures."""
    here, there = multiprocessing.Pipe()
    settings = (chosen.servers, latency_s, chosen.failures)
    multiprocessing.get_context("spawn").Process(target=serve, args=(there, *settings), daemon=True).start()
    model = here.recv()
    ideal, memory, started = defaultdict[str, float](float), list[float](), list[float]()
    _watch_chains(ideal, latency_s)
    if chosen.embedder == "rehearsal":
        embedder = loading.open_embedder("rehearsal")
        loading.open_embedder = lambda *_: embedder
    threading.Thread(target=_watch_memory, args=(memory,), daemon=True).start()

    def note(event: Event) -> None:
        if isinstance(event, RunStarted):
            started.append(time.perf_counter())

    with tempfile.TemporaryDirectory() as folder, SqlStore.open(Path(folder) / "served.db", create=True) as store:
        # vectors that former runs have kept would leave embedding out: the server says the same words again
        access = ModelAccess(cache=Path(folder)).naming([model])
        run_experiment(store, _experiment(model, chosen), InProcessExecutor(store, access), note)
        ended = time.perf_counter()
        runs = store.runs()
        calls = sum(len(store.calls(run.run)) for run in runs)
    used = resource.getrusage(resource.RUSAGE_SELF)
    talking_s = asyncio.run_coroutine_threadsafe(_thread_time(), event_loop()).result()
    here.send("figures")
    wall_s, chain_s = ended - started[0], max(ideal.values())
    pipe.send(
        {
            "dialogues, finished": f"{len(runs)}, {sum(run.status == 'finished' for run in runs)}",
            "turns, calls": f"{sum(run.turns for run in runs)}, {calls}",
            **{name: str(value) for name, value in here.recv().items()},
            "ideal, s": f"{chain_s:.1f}",
            "wall time, s": f"{wall_s:.1f}",
            "wall time / ideal (target 1.3)": f"{wall_s / chain_s:.2f}",
            "CPU a call, ms": f"{(used.ru_utime + used.ru_stime) / calls * 1000:.1f}",
            "of which talking to the server": f"{talking_s / calls * 1000:.1f}",
            "memory early, at most, MB": f"{memory[len(memory) // 4]:.0f}, {max(memory):.0f}",
        }
    )


def _experiment(model: str, chosen: argparse.Namespace) -> Experiment:
    # the server speaks nonsense, all of which would be drawn anew
    settings = {"removal_factor": 0, "max_concurrency": chosen.dialogues, "ending": "off", "redraws": 0}
    return checked(
        Experiment(
            name="served",
            cases=("tidewell",),
            settings={"all": settings},
            trials=chosen.dialogues,
            rounds=chosen.rounds,
            model=model,
            cohort_size=chosen.dialogues,
        )
    )


def _watch_chains(ideal: dict[str, float], latency_s: float) -> None:
    """Count, by run, what its calls must take: they follow one another, so the times add up."""
    drive, send = tertulia.runs.driving.conversation.drive, RemoteRequests.send

    async def noted_drive(context: Any, *arguments: Any, **named: Any) -> None:
        _RUN.set(context.run)
        await drive(context, *arguments, **named)

    async def noted_send(self: RemoteRequests, request: Any, generator: Any) -> Any:
        ideal[_RUN.get()] += latency_s
        return await send(self, request, generator)

    def noted_wait(*arguments: Any) -> float:
        seconds = wait_s(*arguments)
        ideal[_RUN.get()] += seconds + latency_s
        return seconds

    tertulia.runs.driving.conversation.drive = noted_drive
    RemoteRequests.send = noted_send  # type: ignore[method-assign]
    vars(remote_requests)["wait_s"] = noted_wait


def _watch_memory(samples: list[float]) -> None:
    page = os.sysconf("SC_PAGE_SIZE")
    while True:
        samples.append(int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * page / 2**20)
        time.sleep(1)


async def _thread_time() -> float:
    return time.thread_time()


if __name__ == "__main__":
    main()
