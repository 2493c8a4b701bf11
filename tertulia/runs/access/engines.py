"""The models of a run: opened once each, checked against the demands of the parameters."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

from tertulia.runs.access.model_names import (
    ROLES,
    models_of_roles,
    no_surrogate,
    participant_models_of,
    require_dialogue_last,
    require_likelihoods,
)
from tertulia.runs.access.suited import require_logits, require_sampling, require_scores, require_sight, suited_to
from tertulia.runs.access.trust import KnownTrust, Trust, Trusted
from tertulia.state.errors import ModelError, TertuliaError, TrustError
from tertulia.state.language_model import (
    EMBEDDER,
    REHEARSAL,
    Embedder,
    LanguageModel,
    ModelRole,
    Report,
    SeeingModel,
    ignore_activity,
)
from tertulia.state.meeting import Start
from tertulia.state.parameters import Parameters
from tertulia.state.parameters.model import ModelWeights, ServerParameters
from tertulia.state.picture_finder import PictureFinder
from tertulia.state.questions import ServedModel
from tertulia.state.records import ParticipantModel, RunRecord
from tertulia.state.text import one_line, shell_argument
from tertulia.storage.sqlite.kept_vectors import VectorFile

Taker = TypeVar("Taker", str, ModelRole)
Opened = TypeVar("Opened")


@dataclass(frozen=True)
class ModelAccess:
    """Opens models, unless only a file names them.

    Attributes:
        cache: The folder of converted models and of the vectors of texts.
        keys: Keys of remote models by environment variable (`OPENAI_API_KEY`).
        report: Receives the reason for which a model waits, while it is opened and afterwards.
        trust: Knows the names that the user has given before; asks about the rest.
        named: Models that the command or the program names.
        with_code: Models whose own Python code may run.
        kept: Open models, shared by runs that ask for the same; `None`: each run opens its own.
        scorers: The number of Ray actors that hold the surrogate; 0: it is opened in this process.
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
        """Return a copy that opens each model once for all runs."""
        return replace(self, kept={})

    def handed_over(self) -> "ModelAccess":
        """Return a copy of plain data for another process: it asks nobody and reports nothing."""
        return replace(self, report=ignore_activity, trust=KnownTrust(self.trust.read()), kept=None)

    def naming(self, names: Iterable[str]) -> "ModelAccess":
        """Return a copy with more named models."""
        return replace(self, named=self.named | set(names))

    def require(self, names: Iterable[str], embedder: str = EMBEDDER) -> None:
        """Refuse models that the user has not named, before any is opened; remember the named places.

        A place is a provider or the origin of a server. A key in the environment names a provider, too. A model of the
        hub that is on this machine needs no name.

        Raises:
            TrustError: Only a file names a place, and the user declined or can't be asked; or a model of the hub.
        """
        from tertulia.models.loading import is_hub_id
        from tertulia.models.local.adapters import split_name
        from tertulia.models.local.hub import require_on_machine
        from tertulia.models.served.chat_names import SERVER_KEY, is_chat_name, key_variable, places_of

        self._require_embedder(embedder)
        names = [self._asked_as(name) for name in names]
        places = {place: name for name in names if is_chat_name(name) for place in places_of(name)}
        named = {place for name in self.named if is_chat_name(name) for place in places_of(name)}
        for name in names:
            if is_hub_id(base := split_name(name)[0]) and not self._may_download(name):
                require_on_machine(base)
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
        """Open a language model in the precision of the parameters (`open_model`).

        Raises:
            TrustError: It is remote, and only a file names it.
            TertuliaError: It does not exist, can't be used, or can't be loaded.
        """
        self.require([name])
        of_server = parameters.model_dump(include={*ServerParameters.model_fields})
        noted = parameters.weights.get(name)
        key = (name, noted, parameters.precision, *of_server.values())
        return self._kept(key, lambda: self._open_model(name, parameters, noted))

    def _asked_as(self, name: str) -> str:
        """Return a served model's name with the servers that the user names now."""
        from tertulia.models.served.chat_names import ADDRESS, is_same_served

        if name in self.named or not name.startswith(ADDRESS):
            return name
        elsewhere = [named for named in self.named if is_same_served(named, name)]
        return elsewhere[0] if len(elsewhere) == 1 else name

    def scorer(self, name: str, parameters: Parameters) -> LanguageModel:
        """Open the model that scores for others, in Ray actors if `scorers` asks for them.

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
            **self._permissions(name),
        )
        # As many threads as here: digits depend on their number.
        return self._kept(
            ("scorers", name, parameters.precision),
            lambda: open_scorers(opener, self.scorers, threads_in_force()[0]),
        )

    def _open_model(self, recorded: str, parameters: Parameters, noted: ModelWeights | None) -> LanguageModel:
        """Open a model under its recorded name.

        Args:
            noted: Its adapters when the run started; `None` for a new run, and without adapters.

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
                recorded_as=recorded,
                **self._permissions(name),
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
        """Open an embedder (`open_embedder`).

        Raises:
            TrustError: Only a file names it, and it is not on this machine, or is a folder.
            TertuliaError: It does not exist, or can't be loaded.
        """
        from tertulia.models.loading import open_embedder

        self._require_embedder(name)
        with _errors_explained(f"the embedder {name!r}"):
            return self._kept(
                ("embedder", name),
                lambda: open_embedder(name, self.report, VectorFile(self.cache / "vectors.db")),
            )

    def _require_embedder(self, name: str) -> None:
        """Refuse an embedder that is missing, or that the user has not named; remember a folder that they name."""
        from tertulia.models.loading import check_embedder, is_hub_id
        from tertulia.models.local.hub import require_on_machine

        if name in (EMBEDDER, REHEARSAL):
            return
        check_embedder(name)
        folder = os.path.realpath(name)
        if is_hub_id(name):
            if not self._may_download(name):
                require_on_machine(name)
        elif name in self.named:
            self.trust.remember(Trusted(files=(folder,)))
        elif not self.trust.read().covers(folder):
            raise TrustError(
                f"the embedder {name!r} is named by a file, and not by you; if that is what you want: "
                f"tertulia trust {shell_argument(folder)}"
            )

    def _kept(self, key: object, open: Callable[[], Opened]) -> Opened:
        if self.kept is None:
            return open()
        if key not in self.kept:
            self.kept[key] = open()
        return cast(Opened, self.kept[key])

    def picture_finder(self, name: str) -> PictureFinder:
        """Open a picture finder.

        Raises:
            TertuliaError: It does not exist, or can't be loaded.
        """
        from tertulia.models.loading import open_picture_finder

        with _errors_explained(f"the model {name!r}"):
            return open_picture_finder(name, report=self.report, **self._permissions(name))

    def _permissions(self, name: str) -> dict[str, Any]:
        return {"may_download": self._may_download(name), "with_code": name in self.with_code}

    def _may_download(self, name: str) -> bool:
        return name in self.named or name in self.trust.read().places


def named_models(settings: Mapping[str, Any], *models: str | None) -> frozenset[str]:
    """Return the models that a user names, as arguments or by settings for a role."""
    given = (*models, *(settings.get(setting) for setting in (*ROLES.values(), "picture_model", "embedder")))
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
        participant_models: Models of single participants, by name.
        embedder: For retrieval, perception and willingness.
        roles: Models that take a role for everybody.
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
        return [cast(SeeingModel, model) for model in self._all if model.traits.sees_pictures]

    @property
    def _all(self) -> tuple[LanguageModel, ...]:
        return (self.model, *self.participant_models.values(), *self.roles.values())

    def check(self, parameters: Parameters) -> None:
        """Refuse parameters that demand of a model a task that it can't do.

        Raises:
            UsageError: A text-only model has to score or to give likelihoods; or the layout does not allow the order
                of the blocks.
        """
        for speaker in (self.model, *self.participant_models.values()):
            require_scores(speaker.traits, parameters)
            require_logits(speaker.traits, parameters)
            require_sight(speaker.traits, parameters)
            judge, thinker = self.roles.get("judge", speaker), self.roles.get("think", speaker)
            suited = self.suited(speaker, parameters)
            for asked in (speaker, thinker, *([judge] if suited.judge == "rating" else [])):
                require_sampling(asked.traits, parameters)
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
        """Return the parameters with `auto` settings resolved for a model, its judge and its thinker."""
        if (thinker := self.roles.get("think")) is not None:
            thought = suited_to(thinker.traits, parameters.model_copy(update={"ending": "off", "judge": "off"}))
            parameters = parameters.model_copy(update={name: getattr(thought, name) for name in THINKING})
        if (judge := self.roles.get("judge")) is not None:
            judged = suited_to(judge.traits, parameters.model_copy(update={"ending": "off"}))
            names = ("judge", "inconsistency_threshold")
            parameters = parameters.model_copy(update={name: getattr(judged, name) for name in names})
        return suited_to(model.traits, parameters)

    def recorded(self, parameters: Parameters) -> dict[str, object]:
        """Return the parameters for a run's record: resolved for everybody's model, with its weights."""
        noted = parameters.model_copy(update={"weights": parameters.weights | self.weights})
        return self.suited(self.model, noted).model_dump(mode="json")

    @property
    def weights(self) -> dict[str, ModelWeights]:
        """The base and the adapters of models that have adapters, by name."""
        return {model.id: found for model in self._all if (found := _weights_of(model)) is not None}

    def recorded_participants(self, parameters: Parameters) -> dict[str, ParticipantModel]:
        """Return the models of participants for a run's record."""
        return {
            name: ParticipantModel(model=model.id, parameters=self.suited(model, parameters).model_dump(mode="json"))
            for name, model in self.participant_models.items()
        }


def _weights_of(model: LanguageModel) -> ModelWeights | None:
    return getattr(model, "weights", None)


#: Parameters that depend on the model that thinks.
THINKING = ("choices", "max_thought_tokens", "max_reason_tokens")


def open_engines(name: str, start: Start | None, parameters: Parameters, access: ModelAccess) -> Engines:
    """Open the models of a new run, each once.

    Raises:
        TertuliaError: A model does not exist, can't be used or loaded, or can't do a task that the parameters demand.
    """
    embedder = parameters.embedder or EMBEDDER
    engines = _open(name, participant_models_of(name, start), embedder, parameters, access)
    engines.check(parameters)
    return engines


def reopen_engines(
    run: RunRecord,
    access: ModelAccess,
    precision: str | None = None,
) -> Engines:
    """Open the models of a stored run (see `open_engines`), in this precision if the run leaves it to the machine."""
    wanted = {name: participant.model for name, participant in run.participant_models.items()}
    parameters = Parameters.model_validate(run.parameters)
    if precision is not None and parameters.precision == "auto":
        parameters = parameters.with_settings({"precision": precision})
    return _open(run.model, wanted, run.embedder, parameters, access)


def _open(
    name: str,
    participants: Mapping[str, str],
    embedder: str,
    parameters: Parameters,
    access: ModelAccess,
) -> Engines:
    roles = {} if name == REHEARSAL else models_of_roles(parameters)
    finder = None if name == REHEARSAL or parameters.picture_model is None else parameters.picture_model
    embedder = REHEARSAL if name == REHEARSAL else embedder
    access.require([name, *participants.values(), *roles.values(), *([] if finder is None else [finder])], embedder)
    opened = {name: access.language_model(name, parameters)}

    def each(names: Mapping[Taker, str]) -> dict[Taker, LanguageModel]:
        for wanted in names.values():
            if wanted not in opened:
                opened[wanted] = access.language_model(wanted, parameters)
        return {taker: opened[wanted] for taker, wanted in names.items()}

    beside: dict[ModelRole, str] = {role: roles.pop(role) for role in ("score",) if access.scorers and role in roles}
    return Engines(
        model=opened[name],
        participant_models=each(participants),
        embedder=access.embedder(embedder),
        roles=each(roles) | {role: access.scorer(wanted, parameters) for role, wanted in beside.items()},
        picture_finder=None if finder is None else access.picture_finder(finder),
    )
