"""What a process costs before its first word, and a remote model's call and a rehearsed round besides (`cpu` seconds).

`python -m benchmarks.speed.startup` prints, as medians over repeats, CPU seconds (user and system) with one thread:

1. commands that need no model;
2. `run tidewell` with the embedded model until its first prompt is read, by what it is spent on: where no vectors of
   its texts are kept yet, and again;
3. `run tidewell` with a remote model until its first request leaves, with real embeddings, and the memory until then:
   where no vectors of its texts are kept yet, and again; and all of a rehearsed round of it;
4. a rehearsed run of a light installation until its first line is printed, and what of it `import langgraph.graph` is;
5. a call of a remote model in a meeting of five, against a server that answers at once: what a meeting of so many
   rounds takes longer than one of a single round, over the calls that it makes more;
6. a round of a rehearsed meeting of five, measured in the same way.

Compiled modules must be kept, as they are without `PYTHONDONTWRITEBYTECODE`.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Mapping

from support.first_line import first_line, new_folder
from support.protocol_server import Served, serving

#: Targets: seconds before the first word, seconds and MB before the first request, seconds before the first line of a
#: rehearsal, milliseconds of a call.
FIRST_WORD_S, REQUEST_S, REQUEST_MB, FIRST_LINE_S, CALL_MS = 5.0, 1.5, 250, 1.5, 8.0

#: The command line, as it is installed.
_PROGRAM = ("-c", "from tertulia.cli import program; program()")

#: Runs the command line, and ends the process when the first prompt is about to be read; prints CPU seconds by then.
_UNTIL_FIRST_PROMPT = """
import os, resource, sys

def mark(what):
    used = resource.getrusage(resource.RUSAGE_SELF)
    print('cpu', what, used.ru_utime + used.ru_stime, sep='\\t', flush=True)

def marked(module, name, before, after):
    function = getattr(module, name)
    def wrapped(*arguments, **options):
        mark(before)
        result = function(*arguments, **options)
        mark(after)
        return result
    setattr(module, name, wrapped)

def stop(*_, **__):
    mark('memories, scores and grammar')
    os._exit(0)

from tertulia.cli.main import main
from tertulia.models import loading
marked(loading, 'open_embedder', 'the model', 'the embedder')
original = loading.open_model

def open_model(*arguments, **options):
    mark('the command and its graphs')
    model = original(*arguments, **options)
    from tertulia.models.local import kept_prompts
    kept_prompts.prefill = stop
    return model

loading.open_model = open_model
sys.argv = ['tertulia', *sys.argv[1:]]
main()
"""

#: Runs the command line, and ends the process when the first request leaves; prints CPU seconds and MB by then.
_UNTIL_FIRST_REQUEST = """
import os, re, resource, sys
from tertulia.cli.main import main
from tertulia.models.served.remote_requests import RemoteRequests

async def stop(*_, **__):
    used = resource.getrusage(resource.RUSAGE_SELF)
    with open('/proc/self/status') as status:
        most = re.search(r'VmHWM:\\s+(\\d+)', status.read())[1]
    print('request', used.ru_utime + used.ru_stime, int(most) / 1024, 'torch' in sys.modules, sep='\\t', flush=True)
    os._exit(0)

RemoteRequests.send = stop
sys.argv = ['tertulia', *sys.argv[1:]]
main()
"""


def spent(command: list[str], environment: Mapping[str, str] | None = None) -> tuple[float, str]:
    """Return the CPU seconds of a process, and its standard output."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    settings = {**os.environ, "OMP_NUM_THREADS": "1", **(environment or {})}
    done = subprocess.run([sys.executable, *command], check=True, capture_output=True, text=True, env=settings)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def first_words() -> list[dict[str, float]]:
    """Return the CPU seconds until the first prompt is read, by what they are spent on: of a first and a second run."""
    with new_folder() as (named, environment):
        return [_first_word(named, environment) for _ in range(2)]


def _first_word(named: list[str], environment: Mapping[str, str]) -> dict[str, float]:
    run = ["run", "tidewell", "--lambda", "0.5", "--rounds", "1", *named]
    _, out = spent(["-c", _UNTIL_FIRST_PROMPT, *run], environment)
    marks = [line.split("\t")[1:] for line in out.splitlines() if line.startswith("cpu\t")]
    times, before = {}, 0.0
    for what, seconds in marks:
        times[what], before = float(seconds) - before, float(seconds)
    return times | {"all": before}


def first_requests(served: Served) -> list[tuple[float, float]]:
    """Return the CPU seconds and MB until the first request of a remote model: of a first and a second run."""
    found = []
    with new_folder() as (named, environment):
        run = ["run", "tidewell", "--model", served.model, "--lambda", "0", "--rounds", "1", *named]
        for _ in range(2):
            _, out = spent(["-c", _UNTIL_FIRST_REQUEST, *run], environment)
            (line,) = (line for line in out.splitlines() if line.startswith("request\t"))
            _, seconds, megabytes, has_torch = line.split("\t")
            assert has_torch == "False"
            found.append((float(seconds), float(megabytes)))
    return found


def meeting(rounds: int, *model: str) -> float:
    """Return the CPU seconds of a meeting of so many rounds."""
    with new_folder() as (named, environment):
        command = [*_PROGRAM, "run", "team_building", *model, "--rounds", str(rounds), *named]
        return spent(command, environment)[0]


def call_ms(served: Served, rounds: int) -> float:
    """Return the CPU milliseconds of a remote call beyond what one round costs."""
    seconds, calls = [], []
    for number in (1, rounds):
        before = sum(served.answered.values())
        seconds.append(meeting(number, "--model", served.model))
        calls.append(sum(served.answered.values()) - before)
    return 1000 * (seconds[1] - seconds[0]) / (calls[1] - calls[0])


def main() -> None:
    """Measure as often as asked, and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=9)
    chosen = parser.parse_args()
    repeats = range(chosen.repeats)
    for command in (["--help"], ["runs"], ["scenarios"], ["settings"]):
        cpu = statistics.median(spent([*_PROGRAM, *command])[0] for _ in repeats)
        print(f"tertulia {command[0]}: {cpu:.2f} s")
    words = [first_words() for _ in repeats]
    for number, run in enumerate(("a first run", "the next")):
        for what in words[0][number]:
            target = f" (target: {FIRST_WORD_S:g} s)" if what == "all" else ""
            cpu = statistics.median(word[number][what] for word in words)
            print(f"before the first word of {run}, {what}: {cpu:.2f} s{target}")
    with serving() as served:
        requests = [first_requests(served) for _ in repeats]
        for number, run in enumerate(("a first run", "the next")):
            cpu, megabytes = map(statistics.median, zip(*(found[number] for found in requests), strict=True))
            targets = f" (targets: {REQUEST_S:g} s, {REQUEST_MB} MB)" if number else ""
            print(f"before the first request of {run}: {cpu:.2f} s, {megabytes:.0f} MB{targets}")
        call = statistics.median(call_ms(served, chosen.rounds) for _ in repeats)
    print(f"a remote call: {call:.1f} ms (target: {CALL_MS:g} ms)")
    lines = [first_line() for _ in repeats]
    assert not any(heavy for _, heavy in lines), lines
    cpu = statistics.median(seconds for seconds, _ in lines)
    print(f"before the first line of a rehearsal: {cpu:.2f} s (target: {FIRST_LINE_S:g} s)")
    bare = statistics.median(spent(["-c", ""])[0] for _ in repeats)
    graph = statistics.median(spent(["-c", "import langgraph.graph"])[0] for _ in repeats)
    print(f"`import langgraph.graph` alone: {graph - bare:.2f} s more than {bare:.2f} s of an empty process")
    with new_folder() as (named, _):
        rehearsed = [*_PROGRAM, "run", "tidewell", "--rehearse", "--rounds", "1", *named]
        print(f"a rehearsed round of two: {statistics.median(spent(rehearsed)[0] for _ in repeats):.2f} s")
    rounds = [(meeting(41, "--rehearse") - meeting(1, "--rehearse")) / 40 for _ in repeats]
    print(f"a rehearsed round of five: {1000 * statistics.median(rounds):.0f} ms")


if __name__ == "__main__":
    main()
