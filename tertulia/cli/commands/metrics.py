"""`metrics`: how diverse dialogues are, of stored runs and of files."""

import asyncio
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated

import typer

from tertulia.cli.environment import print_note
from tertulia.cli.opening import open_embedding_model, open_existing, open_language_model
from tertulia.cli.options import JsonOption, StoreOption
from tertulia.cli.terminal.output import data, plain, print_json, progress
from tertulia.cli.terminal.status_line import status_line
from tertulia.runs.access.model_names import embedder_of
from tertulia.state.parameters import Parameters
from tertulia.state.store import Store
from tertulia.views.measuring.cases import Cases, collect, is_stored_run, linked_dialogues

if TYPE_CHECKING:
    from tertulia.views.measuring.measurement import Measurement

_AgainstOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="RUN|FILE", help="How exclusive the dialogues are against these of the same cases; may be repeated."
    ),
]
_IndexOption = Annotated[
    bool, typer.Option("--by-index", help="Measure the utterances at each place of the dialogues, too.")
]
_FluencyOption = Annotated[
    str | None,
    typer.Option(metavar="ID", help="Measure how likely utterances are under this model, such as smollm2."),
]


def metrics(
    dialogues: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN|FILE|LOG",
            help="Stored runs; files, and folders of files, as export writes them, or as others do (lines of dialogues "
            "or chat messages, SDialog's JSON); and the logged dialogues of ga:FOLDER.",
        ),
    ],
    by: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Tell runs of a scenario apart by this: lambda, model, scenario, seed, or any parameter.",
        ),
    ] = None,
    embedder: Annotated[
        str | None,
        typer.Option(metavar="ID", help="minilm, a folder or a Hugging Face id; else the runs', or minilm."),
    ] = None,
    against: _AgainstOption = None,
    by_index: _IndexOption = False,
    fluency: _FluencyOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure how diverse the dialogues of each case are: sim (lower is more diverse), dist-1 to dist-3, and length.

    Beside them: dist-N at equal length, Vendi score, repetition, and of stored runs the removed units.

    Runs of a scenario are the dialogues of one case; a run that is given twice, say as an export too, is counted once.

    Example: tertulia metrics k3f9 @last --by lambda --json
    """
    from tertulia.cli.views.metrics import print_measurement

    named = [*dialogues, *(against or [])]
    with open_existing(store) if any(map(is_stored_run, named)) else nullcontext() as opened:
        cases = collect(dialogues, opened, by)
        others = collect(against, opened, by) if against else None
        for run in cases.repeated:
            progress().print(plain(f"run {run} is given more than once; it is counted once"))
        for note in linked_dialogues(named):
            print_note(note)
        measured = _measured(cases, others, opened, embedder, fluency, by_index)
    if as_json:
        print_json(measured.document())
    else:
        print_measurement(data(), measured)


def _measured(
    cases: Cases, against: Cases | None, store: Store | None, embedder: str | None, fluency: str | None, by_index: bool
) -> "Measurement":
    from tertulia.views.measuring.measurement import measure_cases

    records = (run for given in (cases, against) if given for runs in given.runs.values() for run in runs)
    recorded = (run.embedder for run in records if not run.is_rehearsal)  # else a run and its export would differ
    opened = open_embedding_model(embedder, "" if embedder else embedder_of(recorded))
    model = open_language_model(fluency, Parameters()) if fluency else None
    with status_line(f"measuring {sum(map(len, cases.dialogues.values()))} dialogues"):
        return asyncio.run(measure_cases(cases, opened, opened.id, store, against, model, by_index))
