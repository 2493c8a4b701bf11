"""Which models a run needs, by their names, and what their names and parameters show that they can't do.

Nothing is loaded for it.
"""

from collections.abc import Mapping

from tertulia.state.errors import SettingError
from tertulia.state.language_model import ModelRole
from tertulia.state.meeting import Meeting, Start
from tertulia.state.parameters import Parameters

#: The names of the stand-ins without weights, and of the embedder that comes with the installation.
REHEARSAL, EMBEDDER = "rehearsal", "minilm"

#: The parameters that name a model, by the role that it takes for everybody.
ROLES: Mapping[ModelRole, str] = {"judge": "judge_model", "think": "thinking_model", "score": "surrogate"}


def models_of_roles(parameters: Parameters) -> dict[ModelRole, str]:
    """Return the names of the models that take a role for everybody, by role."""
    return {role: name for role, setting in ROLES.items() if (name := getattr(parameters, setting)) is not None}


def names_of_models(name: str, start: Start | None, parameters: Parameters) -> list[str]:
    """Return the names of all language models that a run of everybody's model `name` needs."""
    roles = {} if name == REHEARSAL else models_of_roles(parameters)
    return [name, *participant_models_of(name, start).values(), *roles.values()]


def participant_models_of(name: str, start: Start | None) -> dict[str, str]:
    """Return the names of the models that participants have to themselves; none in a rehearsal."""
    if name == REHEARSAL or not isinstance(start, Meeting):
        return {}
    return {attendee.persona.name: attendee.model for attendee in start.participants if attendee.model is not None}


def check_models(name: str, start: Start | None, parameters: Parameters) -> None:
    """Refuse models that, as their names show, can't do what is asked of them, before anything is loaded.

    Args:
        start: What the run starts from, whose participants may have models to themselves.
        parameters: Of the run; they may name models for roles.

    Raises:
        UsageError: The name of a chat model is incomplete; or a model that shows only text is to score, or to tell how
            likely a text is.
    """
    from tertulia.models.served.chat_names import ADDRESS, TRAITS, check_chat_name, is_chat_name

    roles = {} if name == REHEARSAL else models_of_roles(parameters)
    speakers = [name, *participant_models_of(name, start).values()]
    remote = {model for model in (*speakers, *roles.values()) if is_chat_name(model)}
    for model in sorted(remote):
        check_chat_name(model)
    for speaker in speakers:
        if speaker in remote:
            TRAITS.require_scores(parameters)
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
    """Refuse parameters that ask of a model that shows only text how likely a text is.

    Args:
        judge, speaker, thinker: The names of the models that judge, speak and think, where they show only text.
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

    The dialogue is the turns there. What stood behind it would be read as a part of the partner's last line: chat
    templates want users and assistants to alternate, the user's turn to be the last, and the system's to be the first.
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
    """Return the error for a surrogate that shows no attention."""
    return SettingError("surrogate", name, " shows no attention; set surrogate=smollm2, or another local model")
