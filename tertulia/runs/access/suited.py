"""Parameters as they suit a model: the settings that follow its traits, and those that it can't meet."""

from dataclasses import asdict

from tertulia.state.errors import SettingError, UsageError
from tertulia.state.language_model import NO_ATTENTION, ModelTraits
from tertulia.state.parameters import Parameters

#: How the tokens of speech are drawn, how many are scored, and how; unset, it follows the model.
DECODING = ("temperature", "no_repeat_ngram", "context_strength", "drafts", "scoring_tokens", "reducer")

#: θ of the rating judge. Source: APP §4.1.
RATING_THRESHOLD = 6.67


def require_scores(traits: ModelTraits, parameters: Parameters) -> None:
    """Check that prompts of such a model can be scored, if λ or the record needs scores.

    Raises:
        SettingError: It shows no attention, and nothing else scores in its place.
    """
    has_substitute = parameters.surrogate is not None or "score" in parameters.nodes
    if traits.text_only and parameters.scores_are_wanted and not has_substitute:
        problem = f" needs scores, and a remote model {NO_ATTENTION}, or lambda=0"
        raise SettingError("removal_factor", f"{parameters.removal_factor:g}", problem)


def require_logits(traits: ModelTraits, parameters: Parameters) -> None:
    """Check that such a model shows the distribution of its replies, if that is changed.

    Raises:
        SettingError: It is remote.
    """
    changed = {"context_strength": parameters.context_strength, "drafts": (parameters.drafts or 1) - 1}
    changed["dry"] = parameters.dry
    if traits.text_only and (name := next((name for name, value in changed.items() if value), None)):
        problem = " needs the probabilities of tokens, which a remote model does not show; leave it out"
        raise SettingError(name, getattr(parameters, name), problem)


def require_sampling(traits: ModelTraits, parameters: Parameters) -> None:
    """Check that such a model draws its replies as the parameters say, for whatever it is asked.

    Raises:
        SettingError: A provider's requests have no such parameter.
    """
    if parameters.min_p and not traits.takes_min_p:
        problem = ": requests to a provider have no such parameter; set min_p=0, or take a model of your own"
        raise SettingError("min_p", f"{parameters.min_p:g}", problem)


def require_sight(traits: ModelTraits, parameters: Parameters) -> None:
    """Check that such a model is shown pictures, if that is asked for.

    Raises:
        SettingError: It takes no pictures. A rehearsal takes the place of a model that may.
    """
    if parameters.sight == "pictures" and not traits.sees_pictures and not traits.rehearsed:
        problem = " needs a model that sees pictures, and this one reads text alone; take another model, or set "
        raise SettingError("sight", parameters.sight, f"{problem}sight=captions")


def suited_to(traits: ModelTraits, parameters: Parameters) -> Parameters:
    """Return the parameters with every `auto` replaced by the value that suits the model, and with its thresholds.

    Raises:
        UsageError: The judge needs a threshold that was never calibrated for this model.
    """
    judge = traits.judge if parameters.judge == "auto" else parameters.judge
    threshold = parameters.inconsistency_threshold
    if threshold is None and judge != "off":
        threshold = RATING_THRESHOLD if judge == "rating" else traits.likelihood_threshold
        if threshold is None:
            raise UsageError(
                "the likelihood judge has no calibrated threshold for this model; "
                "set inconsistency_threshold, or judge=rating"
            )
    ending = traits.ending if parameters.ending == "auto" else parameters.ending
    ending_threshold = traits.ending_threshold if parameters.ending_threshold is None else parameters.ending_threshold
    if ending == "continuation" and ending_threshold is None:
        raise UsageError("ending=continuation has no calibrated threshold for this model; set ending_threshold")
    lengths = {
        f"max_{what}_tokens": length
        for what, length in asdict(traits.lengths).items()
        if getattr(parameters, f"max_{what}_tokens") == "auto"
    }
    decoding = {name: getattr(traits, name) for name in DECODING if getattr(parameters, name) is None}
    least, most = parameters.memory_items_within(traits.memory_items)
    return parameters.model_copy(
        update={
            **lengths,
            "memory_items_min": least,
            "memory_items_max": most,
            **decoding,
            "choices": traits.choices if parameters.choices == "auto" else parameters.choices,
            "layout": traits.layout if parameters.layout == "auto" else parameters.layout,
            "judge": judge,
            "inconsistency_threshold": threshold,
            "ending": ending,
            "ending_threshold": ending_threshold if ending == "continuation" else None,
        }
    )
