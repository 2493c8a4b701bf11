"""The models of a run: opened once each, checked against what the parameters ask of them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

from tertulia.access.model_names import (
    EMBEDDER,
    REHEARSAL,
    ROLES,
    models_of_roles,
    no_surrogate,
    participant_models_of,
    require_dialogue_last,
    require_likelihoods,
)
from tertulia.access.trust import KnownTrust, Trust, Trusted
from tertulia.state.errors import ModelError, TertuliaError, TrustError
from tertulia.state.language_model import (
    Embedder,
    LanguageModel,
    ModelRole,
    PictureFinder,
    Report,
    SeeingModel,
    ignore_activity,
)
from tertulia.state.meeting import Start
from tertulia.state.parameters import Parameters
from tertulia.state.parameters.model import ModelWeights, ServerParameters
from tertulia.state.questions import ServedModel
from tertulia.state.records import ParticipantModel, RunRecord
from tertulia.state.text import one_line
from tertulia.storage.sqlite.vectors import VectorFile

Taker = TypeVar("Taker", str, ModelRole)
Opened = TypeVar("Opened")


@dataclass(frozen=True)
class ModelAccess:
    """All that is needed to open models, and whether one may be opened: what a file names is no reason to.

    Attributes:
        cache: Where converted models, and vectors of texts, are kept.
        keys: Keys of remote models, by the variable that has them (`OPENAI_API_KEY`).
        report: Is called with what a model waits for, while it is opened and afterwards.
        trust: What the user has named before; asks about what they have not.
        named: Names of models that the command, or the program, gives.
        with_code: Those of them whose own Python code is executed.
        kept: Models that were opened, for the next run that asks for the same; `None`: each run opens its own.
        scorers: How many actors of Ray hold the surrogate, beside the conversations; 0: it is opened here.
    """

    cache: Path = field(default_factory=lambda: Path.home() / ".cache" / "tertulia")
    keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    report: Report = ignore_activity
    trust: Trust = field(default_factory=Trust)
    named: frozenset[str] = frozenset()
    with_code: frozenset[str] = frozenset()
    kept: dict[object, Any] | None = field(default=None, repr=False, compare=False)
    scorers: int = 0

    def keeping_models(self) -> "ModelAccess":
        """Return the same, with each model opened once for all runs that ask for it."""
        return replace(self, kept={})

    def handed_over(self) -> "ModelAccess":
        """Return the same as plain data for another process, which asks nobody and reports nothing."""
        return replace(self, report=ignore_activity, trust=KnownTrust(self.trust.read()), kept=None)

    def naming(self, names: Iterable[str]) -> "ModelAccess":
        """Return the same, with more models that the command, or the program, gives."""
        return replace(self, named=self.named | set(names))

    def require(self, names: Iterable[str]) -> None:
        """Refuse remote models in places that the user has not named; remember those that they have.

        A place is the origin of a server, or a provider; a provider is named, too, by a key in the environment.

        Raises:
            TrustError: Only a file names one, and the user, if they can be asked, said no.
        """
        from tertulia.models.loading import is_hub_id
        from tertulia.models.served.chat_names import SERVER_KEY, is_chat_name, key_variable, places_of

        names = [self._asked_as(name) for name in names]
        places = {place: name for name in names if is_chat_name(name) for place in places_of(name)}
        named = {place for name in self.named if is_chat_name(name) for place in places_of(name)}
        for place in sorted(places.keys() - named - set(self.trust.read().places)):
            key = key_variable(places[place])
            if key in self.keys and key != SERVER_KEY:
                continue
            sent = f"prompts{f', and the key in {key},' if key in self.keys else ''} would be sent to {place}"
            if not self.trust.ask(f"{places[place]} is named by a file alone: {sent}; is that what you want?"):
                raise TrustError(
                    f"{places[place]} is named by a file, and not by you: {sent}; if that is what you want: "
                    f"tertulia trust {place}"
                )
            named.add(place)
        self.trust.remember(Trusted(places=tuple(sorted([*named, *filter(is_hub_id, self.named)]))))

    def language_model(self, name: str, parameters: Parameters) -> LanguageModel:
        """Return the language model of that name, in the precision of the parameters.

        Raises:
            TrustError: It is remote, and only a file names it.
            TertuliaError: There is none, it can't be used, or it can't be loaded.
        """
        self.require([name])
        of_server = parameters.model_dump(include={*ServerParameters.model_fields})
        noted = parameters.weights.get(name)
        key = (name, noted, parameters.precision, *of_server.values())
        return self._kept(key, lambda: self._open_model(name, parameters, noted))

    def _asked_as(self, name: str) -> str:
        """Return the name with the servers that the user names for a model now, where those are others."""
        from tertulia.models.served.chat_names import ADDRESS, is_same_served

        if name in self.named or not name.startswith(ADDRESS):
            return name
        elsewhere = [named for named in self.named if is_same_served(named, name)]
        return elsewhere[0] if len(elsewhere) == 1 else name

    def scorer(self, name: str, parameters: Parameters) -> LanguageModel:
        """Return the model that scores for others: in actors of Ray where the user wants some, else opened here.

        Raises:
            TertuliaError: It can't be opened, or Ray is missing.
        """
        if not self.scorers:
            return self.language_model(name, parameters)
        from tertulia.models.loading import open_model
        from tertulia.models.local.threads import threads_in_force
        from tertulia.models.ray_scoring import open_scorers

        opener = partial(
            open_model,
            name,
            cache=self.cache,
            precision=parameters.precision,
            may_download=name in self.named or name in self.trust.read().places,
            with_code=name in self.with_code,
        )
        # As many threads as here: digits depend on how many there are.
        return self._kept(
            ("scorers", name, parameters.precision), lambda: open_scorers(opener, self.scorers, threads_in_force()[0])
        )

    def _open_model(self, recorded: str, parameters: Parameters, noted: ModelWeights | None) -> LanguageModel:
        """Open a model under the name that the run has for it.

        Args:
            noted: What it was made of when the run started; `None` for one that begins, or that has no adapters.

        Raises:
            ModelError: It can't be loaded, or has other adapters now.
        """
        from tertulia.models.loading import open_model
        from tertulia.models.served.chat_names import key_variable

        name = self._asked_as(recorded if noted is None or noted.adapters is not None else noted.base)
        variable = key_variable(name)
        with _errors_explained(f"the model {name!r}"):
            model = open_model(
                name,
                cache=self.cache,
                precision=parameters.precision,
                limits=parameters,
                key=None if variable is None else self.keys.get(variable),
                report=self.report,
                may_download=name in self.named or name in self.trust.read().places,
                with_code=name in self.with_code,
                recorded_as=recorded,
            )
        made = _weights_of(model)
        if noted is not None and noted.adapters_hash != (None if made is None else made.adapters_hash):
            raise ModelError(
                f"the run was started with the adapters {noted.adapters} ({noted.adapters_hash}) on {noted.base}, and "
                f"{recorded} has {'none' if made is None else made.adapters_hash} now; put them back, or fork the run "
                f"with another model: tertulia fork RUN --at N --model {recorded}"
            )
        return model

    def embedder(self, name: str) -> Embedder:
        """Return the embedder of that name.

        Raises:
            TrustError: Only a file names it, and it is not one that comes with the installation.
            TertuliaError: There is none, or it can't be loaded.
        """
        from tertulia.models.loading import open_embedder

        if name not in {EMBEDDER, REHEARSAL, *self.named}:
            raise TrustError(f"the embedder {name!r} is named by a store, and is none of {EMBEDDER} and {REHEARSAL}")
        with _errors_explained(f"the embedder {name!r}"):
            return self._kept(
                ("embedder", name), lambda: open_embedder(name, self.report, VectorFile(self.cache / "vectors.db"))
            )

    def _kept(self, key: object, open: Callable[[], Opened]) -> Opened:
        """Return what was opened under a key, where models are kept, or open it."""
        if self.kept is None:
            return open()
        if key not in self.kept:
            self.kept[key] = open()
        return cast(Opened, self.kept[key])

    def picture_finder(self, name: str) -> PictureFinder:
        """Return the finder of pictures of that name.

        Raises:
            TertuliaError: There is none, or it can't be loaded.
        """
        from tertulia.models.loading import open_picture_finder

        with _errors_explained(f"the model {name!r}"):
            return open_picture_finder(
                name,
                report=self.report,
                may_download=name in self.named or name in self.trust.read().places,
                with_code=name in self.with_code,
            )


def named_models(settings: Mapping[str, Any], *models: str | None) -> frozenset[str]:
    """Return the names of models that a user gives: as everybody's, and by settings for a role."""
    given = (*models, *(settings.get(setting) for setting in (*ROLES.values(), "picture_model")))
    return frozenset(name for name in given if isinstance(name, str))


@contextmanager
def _errors_explained(what: str) -> Iterator[None]:
    """Re-raise a library's error about a model file as a one-line `ModelError`."""
    try:
        yield
    except TertuliaError:
        raise
    except ModuleNotFoundError as error:
        raise ModelError(
            f"{what} needs {error.name}, which is not installed; `tertulia doctor` prints the command that installs it"
        ) from error
    except Exception as error:
        raise ModelError(
            f"{what} can't be loaded: {type(error).__name__}: {one_line(error)}; see that its files are whole"
        ) from error


@dataclass(frozen=True)
class Engines:
    """The models of a run.

    Attributes:
        participant_models: Models that participants have to themselves, by participant.
        embedder: For retrieval, perception and willingness.
        roles: Models that take a role for everybody, by role.
        picture_finder: Finds the picture that a plan means; `None`: the embedder does, by captions.
    """

    model: LanguageModel
    participant_models: Mapping[str, LanguageModel]
    embedder: Embedder
    roles: Mapping[ModelRole, LanguageModel] = field(default_factory=dict)
    picture_finder: PictureFinder | None = None

    @property
    def seeing(self) -> list[SeeingModel]:
        """The models that are shown pictures."""
        models = (self.model, *self.participant_models.values(), *self.roles.values())
        return [cast(SeeingModel, model) for model in models if model.traits.sees_pictures]

    def check(self, parameters: Parameters) -> None:
        """Refuse parameters that ask of a model what it can't do.

        Raises:
            UsageError: A model that shows only text is to score, or to tell how likely a text is; or a layout has no
                place for the order of the blocks.
        """
        for speaker in (self.model, *self.participant_models.values()):
            speaker.traits.require_scores(parameters)
            speaker.traits.require_logits(parameters)
            speaker.traits.require_sight(parameters)
            judge, thinker = self.roles.get("judge", speaker), self.roles.get("think", speaker)
            suited = self.suited(speaker, parameters)
            require_dialogue_last(suited, speaker.id)
            judges_blindly = judge.traits.text_only and not (
                suited.judge == "likelihood" and isinstance(judge, ServedModel) and judge.tells_likelihoods()
            )
            require_likelihoods(
                suited,
                judge.id if judges_blindly else None,
                *(model.id if model.traits.text_only else None for model in (speaker, thinker)),
            )
        scorer = self.roles.get("score")
        if scorer is not None and scorer.traits.text_only:
            raise no_surrogate(scorer.id)

    def suited(self, model: LanguageModel, parameters: Parameters) -> Parameters:
        """Return the parameters as they suit a model; how it is judged, and thinks, follows who does that for it."""
        if (thinker := self.roles.get("think")) is not None:
            thought = thinker.traits.resolve(parameters.model_copy(update={"ending": "off", "judge": "off"}))
            parameters = parameters.model_copy(update={name: getattr(thought, name) for name in THINKING})
        if (judge := self.roles.get("judge")) is not None:
            judged = judge.traits.resolve(parameters.model_copy(update={"ending": "off"}))
            names = ("judge", "inconsistency_threshold")
            parameters = parameters.model_copy(update={name: getattr(judged, name) for name in names})
        return model.traits.resolve(parameters)

    def recorded(self, parameters: Parameters) -> dict[str, object]:
        """Return the parameters as a run's record has them: as they suit the model that everybody has."""
        noted = parameters.model_copy(update={"weights": parameters.weights | self.weights})
        return self.suited(self.model, noted).model_dump(mode="json")

    @property
    def weights(self) -> dict[str, ModelWeights]:
        """What the models with adapters are made of, by name."""
        models = (self.model, *self.participant_models.values(), *self.roles.values())
        return {model.id: found for model in models if (found := _weights_of(model)) is not None}

    def recorded_participants(self, parameters: Parameters) -> dict[str, ParticipantModel]:
        """Return the models of participants as a run's record has them."""
        return {
            name: ParticipantModel(model=model.id, parameters=self.suited(model, parameters).model_dump(mode="json"))
            for name, model in self.participant_models.items()
        }


def _weights_of(model: LanguageModel) -> ModelWeights | None:
    """Return what a model with adapters is made of; `None` for others."""
    return getattr(model, "weights", None)


#: Parameters that follow who thinks.
THINKING = ("choices", "max_thought_tokens", "max_reason_tokens")


def open_engines(name: str, start: Start | None, parameters: Parameters, access: ModelAccess) -> Engines:
    """Return the models with which a run begins, each opened once; a rehearsal has none but the stand-in.

    Raises:
        TertuliaError: One does not exist, can't be used, or can't be loaded, or can't do what the parameters ask.
    """
    wanted = participant_models_of(name, start)
    engines = _open(name, wanted, EMBEDDER, parameters, access)
    engines.check(parameters)
    return engines


def reopen_engines(run: RunRecord, access: ModelAccess) -> Engines:
    """Return the models of a run that goes on (see `open_engines`)."""
    wanted = {name: participant.model for name, participant in run.participant_models.items()}
    return _open(run.model, wanted, run.embedder, Parameters.of_record(run.parameters), access)


def _open(
    name: str, participants: Mapping[str, str], embedder: str, parameters: Parameters, access: ModelAccess
) -> Engines:
    roles = {} if name == REHEARSAL else models_of_roles(parameters)
    access.require([name, *participants.values(), *roles.values()])
    opened = {name: access.language_model(name, parameters)}

    def each(names: Mapping[Taker, str]) -> dict[Taker, LanguageModel]:
        for wanted in names.values():
            if wanted not in opened:
                opened[wanted] = access.language_model(wanted, parameters)
        return {taker: opened[wanted] for taker, wanted in names.items()}

    beside: dict[ModelRole, str] = {role: roles.pop(role) for role in ("score",) if access.scorers and role in roles}
    embedder = REHEARSAL if opened[name].traits.rehearsed else embedder
    finder = None if name == REHEARSAL or parameters.picture_model is None else parameters.picture_model
    return Engines(
        model=opened[name],
        participant_models=each(participants),
        embedder=access.embedder(embedder),
        roles=each(roles) | {role: access.scorer(wanted, parameters) for role, wanted in beside.items()},
        picture_finder=None if finder is None else access.picture_finder(finder),
    )
