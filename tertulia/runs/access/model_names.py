"""The names of the models that a run needs, and checks of them that load nothing."""

from collections.abc import Iterable, Mapping

from tertulia.runs.access.suited import require_scores
from tertulia.state.errors import SettingError, UsageError
from tertulia.state.language_model import EMBEDDER, REHEARSAL, ModelRole
from tertulia.state.meeting import Meeting, Start
from tertulia.state.parameters import Parameters
from tertulia.state.records import RunRecord
from tertulia.state.text import shell_argument

#: The parameters that name the model of a role.
ROLES: Mapping[ModelRole, str] = {"judge": "judge_model", "think": "thinking_model", "score": "surrogate"}


def embedder_of(embedders: Iterable[str], option: str = "--embedder ") -> str:
    """Return the embedder that runs have, with which they are compared unless another is named.

    Args:
        embedders: The embedder of each run; beside others, those of rehearsed runs do not count.
        option: Names an embedder, in an error.

    Raises:
        UsageError: There are several: similarities of two can't be compared.
    """
    found = set(embedders)
    if len(found) > 1:
        found.discard(REHEARSAL)
    if len(found) > 1:
        names = sorted(found, key=lambda name: (name != EMBEDDER, name))
        raise UsageError(
            f"these runs have the embedders {' and '.join(names)}, and similarities by two can't be compared; name one "
            f"for all of them: {option}{shell_argument(names[-1])}"
        )
    return next(iter(found), EMBEDDER)


def models_of_roles(parameters: Parameters) -> dict[ModelRole, str]:
    """Return the names of models by the role that they take for everybody."""
    return {role: name for role, setting in ROLES.items() if (name := getattr(parameters, setting)) is not None}


def names_of_models(name: str, start: Start | None, parameters: Parameters) -> list[str]:
    """Return the names of all language models of a run."""
    roles = {} if name == REHEARSAL else models_of_roles(parameters)
    return [name, *participant_models_of(name, start).values(), *roles.values()]


def models_of_run(run: RunRecord) -> list[str]:
    """Return the names of all language models that a stored run needs to go on."""
    participants = (participant.model for participant in run.participant_models.values())
    return [*names_of_models(run.model, None, Parameters.model_validate(run.parameters)), *participants]


def participant_models_of(name: str, start: Start | None) -> dict[str, str]:
    """Return the names of models of single participants; none in a rehearsal."""
    if name == REHEARSAL or not isinstance(start, Meeting):
        return {}
    return {attendee.persona.name: attendee.model for attendee in start.participants if attendee.model is not None}


def check_models(name: str, start: Start | None, parameters: Parameters) -> None:
    """Refuse models unable to do a requested task, as far as their names show it, before anything is loaded.

    Raises:
        UsageError: The name of a chat model is incomplete; or a text-only model has to score or to give likelihoods.
    """
    from tertulia.models.served.chat_names import ADDRESS, TRAITS, check_chat_name, is_chat_name

    roles = {} if name == REHEARSAL else models_of_roles(parameters)
    speakers = [name, *participant_models_of(name, start).values()]
    remote = {model for model in (*speakers, *roles.values()) if is_chat_name(model)}
    for model in sorted(remote):
        check_chat_name(model)
    for speaker in speakers:
        if speaker in remote:
            require_scores(TRAITS, parameters)
        judge, thinker = roles.get("judge", speaker), roles.get("think", speaker)
        # A server may tell: it is asked when its model is opened.
        judges_blindly = judge in remote and not judge.startswith(ADDRESS)
        require_likelihoods(
            parameters,
            judge if judges_blindly else None,
            *(name if name in remote else None for name in (speaker, thinker)),
        )
    if (scorer := roles.get("score")) in remote:
        raise no_surrogate(str(scorer))


def require_likelihoods(parameters: Parameters, judge: str | None, speaker: str | None, thinker: str | None) -> None:
    """Refuse parameters that need likelihoods from a text-only model.

    Args:
        judge, speaker, thinker: The models that judge, speak and think, if they are text-only; else `None`.
    """
    for setting, asked, model, instead in (
        ("judge", "likelihood", judge, "judge=rating, or judge_model=smollm2"),
        ("ending", "continuation", speaker, "ending=reply"),
        ("choices", "probabilities", thinker, "choices=reply"),
    ):
        if model is not None and getattr(parameters, setting) == asked:
            raise SettingError(setting, asked, f": {model} does not tell how likely a text is; set {instead}")


def require_dialogue_last(parameters: Parameters, model: str) -> None:
    """Refuse an order of blocks that chat turns can't have.

    The dialogue is the turns. A block after it would be read as a part of the partner's last line: in chat templates
    user and assistant alternate, the system's turn is the first and the user's the last.
    """
    behind = parameters.blocks.partition("c")[2]
    if parameters.layout == "chat_turns" and behind:
        problem = (
            f": {behind} would stand behind the current dialogue (c), which in layout=chat_turns is the last turns of "
            "a chat; nothing can stand behind them but as words of the partner. Put c last, or set "
            f"layout=single_message (chat_turns is what suits {model})"
        )
        raise SettingError("block_order", parameters.block_order, problem)


def no_surrogate(name: str) -> SettingError:
    """Return the error for a surrogate without attention."""
    return SettingError("surrogate", name, " shows no attention; set surrogate=smollm2, or another local model")
