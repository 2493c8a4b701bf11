"""Reports on stored runs: album chats of two settings compared, and people that stay themselves or do not."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tertulia.cli.lab.reports import WantedReport
from tertulia.cli.opening import open_embedding_model
from tertulia.cli.terminal import asking
from tertulia.cli.terminal.output import plain, print_json, progress
from tertulia.cli.terminal.status_line import status_line
from tertulia.runs.access.model_names import embedder_of
from tertulia.state.documents import Document
from tertulia.state.errors import UsageError
from tertulia.storage.store import SqlStore

if TYPE_CHECKING:
    from tertulia.lab.pages.page import Page

_SHARED = ("embedder", "out", "force", "store", "as_json")

#: The parameters of `lab report` that each report on runs takes, beside its name and the runs.
OPTIONS_OF_RUNS: Mapping[str, tuple[str, ...]] = {"album": _SHARED, "population": (*_SHARED, "model", "rehearse")}


def print_report_of_runs(
    name: str, wanted: WantedReport, inputs: Sequence[str], model: str | None, is_written: bool
) -> None:
    """Print a report on stored runs, and write it into its folder if asked to.

    Args:
        inputs: Ids of runs; of `population` also of simulations.
        model: Fills in the questionnaire of `population`; `None`: nobody is asked.
    """
    from tertulia.lab.pages.page_files import write_page
    from tertulia.lab.pages.page_markdown import markdown

    with SqlStore.open(wanted.store, create=False) as opened:
        make = _album if name == "album" else _population
        page, document = make(opened, wanted, inputs, model, is_written)
    for file in write_page(page, document, wanted.out / name) if is_written else ():
        progress().print(plain(f"wrote {file}"))
    if wanted.as_json:
        print_json(document)
    else:
        print("\n".join(markdown(page, {})))


def _album(
    store: SqlStore, wanted: WantedReport, inputs: Sequence[str], _: str | None, is_written: bool
) -> "tuple[Page, Document]":
    from tertulia.lab.albums.album_comparison import compare_albums
    from tertulia.lab.albums.album_page import album_document, album_page

    if len(inputs) != 2:
        raise UsageError("give two runs, LOW and HIGH: of tertulia run villagers, and of that with --set setting=high")
    low, high = (store.run(run).run for run in inputs)
    if is_written:
        wanted.check_folder("album", f"{low}, {high}")
    recorded = "" if wanted.embedder else embedder_of(store.run(run).embedder for run in inputs)
    model = open_embedding_model(wanted.embedder, recorded)
    with status_line("comparing"):
        compared = compare_albums(store, low, high, model, model.id)
        return album_page(compared), album_document(compared)


def _population(
    store: SqlStore, wanted: WantedReport, inputs: Sequence[str], asked: str | None, is_written: bool
) -> "tuple[Page, Document]":
    from tertulia.lab.population import gather, measure_population, questionnaires
    from tertulia.lab.population_page import population_document, population_page

    if not inputs:
        raise UsageError("give runs or simulations (@last is the newest run)")
    gathered = gather(store, inputs)
    if is_written:
        wanted.check_folder("population", ", ".join(conversation.name for conversation in gathered))
    requests = questionnaires(store, gathered) if asked is not None else {}
    answers = {run: asking.ask(store, store.run(run), asked, of_run) for run, of_run in requests.items()}
    recorded = "" if wanted.embedder else embedder_of(conversation.embedder for conversation in gathered)
    model = open_embedding_model(wanted.embedder, recorded)
    with status_line("measuring") as line:
        report = measure_population(gathered, model, model.id, answers, line.show)
    return population_page(report), population_document(report)
