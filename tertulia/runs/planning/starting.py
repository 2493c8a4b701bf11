"""Plan a run, begin it, and reopen it: from a user's request to the context in which it is driven.

A plan is checked whole before any model is opened; the run exists from `begin` on.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tertulia.runs.access.engines import Engines, ModelAccess, named_models, open_engines, reopen_engines
from tertulia.runs.access.model_names import check_models, names_of_models
from tertulia.runs.planning.other_items import check_named_by_file, with_other_items
from tertulia.runs.planning.prompt_language import texts_of
from tertulia.runs.planning.request import DEFAULT_MODEL, DEFAULT_SEED, NOTHING_ASKED, RunRequest
from tertulia.runs.planning.seats import check_seat, with_seat
from tertulia.runs.planning.word_rules import reading_addresses
from tertulia.state.album import Population
from tertulia.state.case_seed import case_seed_of
from tertulia.state.errors import SettingError, UsageError
from tertulia.state.files import NOT_FOLLOWED
from tertulia.state.languages import language_of
from tertulia.state.meeting import Meeting, Start
from tertulia.state.parameters import Parameters, parameter_groups
from tertulia.state.records import HasWithheld, RunRecord, Trial
from tertulia.state.text import shell_argument
from tertulia.views.reading.hosted import is_of_own_graph
from tertulia.views.reading.platforms import precision_to_keep
from tertulia.views.reading.shared_turns import stretches

if TYPE_CHECKING:
    from tertulia.models.cohort import CohortBatches
    from tertulia.nodes.machinery.registry import Registry
    from tertulia.state.context import Context
    from tertulia.storage.store import SqlStore
    from tertulia.worlds.scenario_object import ScenarioObject

#: Settings of album chats alone that a user is likely to give.
_OF_ALBUM_CHATS = ("agents", "setting", "villagers", "pictures")

#: By kind of conversation, what it is called, and the groups of settings that it does not look at.
_OTHERS = {
    "dialogue": ("a dialogue of two", ("cognition", "floor", "album", "town")),
    "group_chat": ("a meeting", ("album", "town")),
    "album_chat": ("an album chat", ("floor", "town")),
}


@dataclass(frozen=True)
class RunPlan:
    """A run as it will be begun.

    Attributes:
        parameters: As they were asked for; `auto` settings are still open.
        registry: The nodes and mechanisms that it can have.
        parent: The run and its turn at which this one is forked.
        words: The new words of that turn, for a fork that rewrites it.
        named: Models that the user names, not a file.
        pictures: The stored bytes of a population's pictures.
        trial: Its place in an experiment, if any.
    """

    start: Start
    parameters: Parameters
    model: str
    seed: int
    registry: "Registry"
    label: str | None = None
    parent: tuple[str, int] | None = None
    words: str | None = None
    named: frozenset[str] = frozenset()
    pictures: tuple[bytes, ...] = field(default=(), repr=False)
    trial: Trial | None = None

    @property
    def models(self) -> list[str]:
        """The names of all language models that it needs."""
        return names_of_models(self.model, self.start, self.parameters)


def plan_run(
    scenario: "str | ScenarioObject",
    request: RunRequest = NOTHING_ASKED,
) -> RunPlan:
    """Return the plan of a new run, checked against its scenario.

    Args:
        scenario: A shipped name, a YAML file, `ga:FOLDER[:CASE]`, or an object; names in an object of
            the user's own program count as given by the user.

    Raises:
        TertuliaError: There is no such scenario, or it can't be run like that.
    """
    from tertulia.nodes.machinery.extensions import with_shipped
    from tertulia.worlds.catalog import extensions_of, resolve, settings_of

    additions, named_here = request.additions.including(scenario), _named_by(scenario)
    settings, model = {**request.settings, **additions.settings}, request.model or DEFAULT_MODEL
    registry = additions.registry(extensions_of(scenario))
    known, files = tuple(registry.mechanisms), dict[str, bytes]()
    given = settings_of(scenario, known)
    parameters = Parameters().with_settings(given).with_settings(settings, removal_factor=request.removal_factor)
    check_named_by_file(scenario, given, {**named_here, **settings})
    start = additions.switched_on(resolve(scenario, known, parameters, files), known)
    for note in (*links_of(start), *_without_effect(start, {**given, **settings})):
        additions.report(note)
    if "language" not in {**given, **settings}:
        parameters = parameters.model_copy(update={"language": language_of(texts_of(start))})
    parameters = with_seat(parameters, request.seat, start)
    parameters = reading_addresses(parameters, start.kind, {**given, **settings})
    registry = with_shipped(registry, parameters.nodes.values())
    registry.functions(parameters, start.kind)
    check_start(start, parameters, settings)
    start = with_other_items(start, parameters)
    check_models(model, start, parameters)
    return RunPlan(
        start=start,
        parameters=parameters,
        model=model,
        seed=DEFAULT_SEED if request.seed is None else request.seed,
        registry=registry,
        label=request.label,
        named=named_models({**named_here, **settings}, model, *(() if isinstance(scenario, str) else scenario.named)),
        pictures=tuple(files.values()),
    )


def _named_by(scenario: "str | ScenarioObject") -> Mapping[str, Any]:
    """Return the parameters of a scenario that the user's program has made: they are the user's."""
    return scenario.settings() if not isinstance(scenario, str) and scenario.is_users else {}


def _without_effect(start: Start, settings: Mapping[str, Any]) -> list[str]:
    """Return a line about the settings that only other kinds of conversations look at, as a list; empty without any."""
    kind, others = _OTHERS[start.kind]
    groups = [group for group in parameter_groups() if group.name in others]
    names = [parameter.name for group in groups for parameter in group.parameters if parameter.name in settings]
    return [f"without effect, as {start.scenario} is {kind}: {', '.join(names)}"] if names else []


def links_of(source: HasWithheld) -> list[str]:
    """Return a line for each link that was passed over in a case, a population or a town."""
    return [note for note in source.withheld if note.endswith(NOT_FOLLOWED)]


def check_start(start: Start, parameters: Parameters, settings: Mapping[str, Any]) -> None:
    """Refuse settings that a start can't have.

    Raises:
        ScenarioError: Nobody could ever reach θ of willingness.
        SettingError: A setting is for another kind of conversation, or `names` does not fit the people.
    """
    from tertulia.prompts.renaming import check_names
    from tertulia.worlds.meeting_file import check_weights

    check_names(start.names, parameters.names)
    if isinstance(start, Population):
        _check_album_chat(start, parameters, settings)
    elif name := next((name for name in _OF_ALBUM_CHATS if name in settings), None):
        problem = f": {start.scenario} is no album chat; that is for those, as in `tertulia run villagers`"
        raise SettingError(name, settings[name], problem)
    elif isinstance(start, Meeting):
        if parameters.preset is not None:
            problem = f": the paper has dialogues of two, and {start.scenario} is a meeting; leave the preset out"
            raise SettingError("preset", parameters.preset, problem)
        if parameters.order == "self_driven" and parameters.seat is None:
            check_weights(start, parameters.willingness_threshold)
    elif "order" in settings:
        problem = f": {start.scenario} is a dialogue of two, who speak in turn; speaking orders are for meetings"
        raise SettingError("order", settings["order"], problem)
    parameters.check_wording(f"{start.scenario} is a meeting" if isinstance(start, Meeting) else None)


def _check_album_chat(population: Population, parameters: Parameters, settings: Mapping[str, Any]) -> None:
    if parameters.preset is not None:
        about = f"the paper has dialogues of two, and {population.scenario} is an album chat"
        problem = f": {about}; leave the preset out, and set wording=paper for the words of Fig. 13 to 15"
        raise SettingError("preset", parameters.preset, problem)
    unknown = {
        "order": settings.get("order"),
        "seat": parameters.seat,
        "human_needs": parameters.human_needs or None,
        "ending": None if parameters.ending == "off" else parameters.ending,
        "pruning": None if parameters.pruning == "every" else parameters.pruning,
        "diversity": parameters.diversity,
    }
    if (name := next((name for name, value in unknown.items() if value is not None), None)) is not None:
        about = f"{population.scenario} is an album chat, in which all meet in pairs"
        raise SettingError(name, unknown[name], f": {about}; it has no {name}, leave it out")


def new_record(run: str, plan: RunPlan, engines: Engines) -> RunRecord:
    """Return the record of a new run."""
    parameters = with_case_seed(plan.parameters, plan.start)
    return RunRecord(
        run=run,
        status="running",
        kind=plan.start.kind,
        scenario=plan.start.scenario,
        model=engines.model.id,
        embedder=engines.embedder.id,
        rehearsed=engines.model.traits.rehearsed,
        seed=plan.seed,
        parameters=engines.recorded(parameters),
        participant_models=engines.recorded_participants(parameters),
        extensions=plan.registry.extensions,
        label=plan.label,
        trial=plan.trial,
        parent=plan.parent,
        rewritten=plan.words is not None,
        created=datetime.now(UTC),
    )


def with_case_seed(parameters: Parameters, case: HasWithheld) -> Parameters:
    """Return the parameters with the case's seed as a number, so that every fork keeps it."""
    if parameters.case_seed != "auto":
        return parameters
    return parameters.model_copy(update={"case_seed": case_seed_of(case)})


def begin(store: "SqlStore", plan: RunPlan, access: ModelAccess) -> "Context":
    """Open the models of a plan, store the run, and return the context in which it is driven.

    Raises:
        TertuliaError: A model can't be opened, or the store can't be written.
    """
    store.check_writable()
    return begin_with(store, plan, open_engines(plan.model, plan.start, plan.parameters, access.naming(plan.named)))


def begin_with(store: "SqlStore", plan: RunPlan, engines: Engines) -> "Context":
    """Store the run of a plan with open models, and return the context in which it is driven."""
    return context_of(store, store_run(store, plan, engines), engines, plan.registry)


def store_run(store: "SqlStore", plan: RunPlan, engines: Engines, run: str | None = None) -> RunRecord:
    """Store the run of a plan with open models, under a reserved id or a new one, and return its record."""
    store.make_file()
    with store.transaction():
        for picture in plan.pictures:
            store.save_picture(picture)
        record = new_record(run or store.new_run_id(), plan, engines)
        if plan.parent is not None:
            before = stretches(store, store.run(plan.parent[0]))
            end = plan.parent[1] + record.rewritten
            shared = (stretch.run.rehearsed for stretch in before if stretch.first < end)
            record = record.model_copy(update={"rehearsed": record.rehearsed or any(shared)})
        store.create_run(record, plan.start)
        if plan.words is not None and plan.parent is not None:
            from tertulia.nodes.conversation.seat import write_by_hand

            parent, turn = plan.parent
            write_by_hand(store, record.run, turn, store.turns(parent, turn, turn)[0].speaker or "", plan.words)
    store.file.save_log()
    return record


def reopen(store: "SqlStore", run: RunRecord, access: ModelAccess, request: RunRequest = NOTHING_ASKED) -> "Context":
    """Return the context in which a stored run goes on, with the seat, the additions and the servers of a request.

    Raises:
        TertuliaError: The run is of a graph of the user's own, has another seat or model, an extension has changed or
            is gone, or a model can't be opened.
    """
    if is_of_own_graph(store, run.run):
        raise UsageError(
            f"run {run.run} is of a graph of your own, which has paused or failed in turn {run.turns + 1}: invoke that "
            "graph again, with None as its input"
        )
    check_seat(request.seat, run)
    if request.model is not None:
        access = _on_other_servers(run, request.model, access)
    if run.trial is not None and run.status != "finished":
        raise UsageError(
            f"run {run.run} is a trial of experiment {run.trial.experiment}, whose calls meet those of other trials; "
            f"go on with all of them: tertulia lab resume {shell_argument(run.trial.experiment)}"
        )
    registry = request.additions.reload_registry(run)
    store.set_extensions(run.run, registry.extensions)
    return context_of(store, run, reopen_engines(run, access, precision_to_keep(store, run.run)), registry)


def _on_other_servers(run: RunRecord, model: str, access: ModelAccess) -> ModelAccess:
    """Return the access to a run's model on other servers, or raise `UsageError` for another model."""
    from tertulia.models.served.chat_names import check_chat_name, is_chat_name, is_same_served

    if not is_same_served(model, run.model):
        raise UsageError(
            f"run {run.run} has the model {run.model}, and goes on with no other than the same on other servers "
            "(http://HOST:PORT/v1#NAME); to change the model, fork the run"
        )
    if is_chat_name(model):
        check_chat_name(model)
    return access.naming([model])


def context_of(
    store: "SqlStore",
    run: RunRecord,
    engines: Engines,
    registry: "Registry",
    cohort: "CohortBatches | None" = None,
) -> "Context":
    """Return the context of a run's nodes; in a cohort, its calls are batched with those of the others.

    Raises:
        UsageError: The run's nodes do not exist, or a parameter of one is not acceptable.
        StorageError: Its start is missing or damaged.
    """
    from tertulia.models.batching import BatchingBroker
    from tertulia.state.context import Context
    from tertulia.storage.driven import DrivenStore

    parameters = Parameters.model_validate(run.parameters)
    if parameters.seat is None:
        store = DrivenStore(store, run.run)
    for model in engines.seeing:
        model.use_pictures(store.picture)
    ancestors = _ancestors_of_same_seed(store, run) if run.kind == "album_chat" else []
    return Context(
        run=run.run,
        seed=run.seed,
        start=store.start(run.run),
        parameters=parameters,
        model=engines.model,
        embedder=engines.embedder,
        store=store,
        broker=BatchingBroker(run.run, store, ancestors, cohort),
        participant_models={
            name: (model, Parameters.model_validate(run.participant_models[name].parameters))
            for name, model in engines.participant_models.items()
        },
        roles={role: (model, engines.suited(model, parameters)) for role, model in engines.roles.items()},
        nodes=registry.functions(parameters, run.kind),
        mechanisms=registry.own_mechanisms,
        picture_finder=engines.picture_finder,
    )


def _ancestors_of_same_seed(store: "SqlStore", run: RunRecord) -> list[str]:
    """Return the ancestors of a run, its parent first, as far as they have its seed."""
    ancestors: list[str] = []
    ancestor = run
    while ancestor.parent is not None and (ancestor := store.run(ancestor.parent[0])).seed == run.seed:
        ancestors.append(ancestor.run)
    return ancestors
