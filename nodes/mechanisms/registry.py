"""All shipped mechanisms by name. A new one is a file here and a line below, or an extension (docs/extending.md)."""

from collections.abc import Mapping

from tertulia.nodes.mechanisms import (
    goal_summary,
    memory_retrieval,
    mention_response,
    speech_frequency,
    time_analysis,
    topic_analysis,
)
from tertulia.nodes.mechanisms.mechanism import Mechanism
from tertulia.prompts.templates import template
from tertulia.state.context import Context

MECHANISMS: Mapping[str, Mechanism] = {
    mechanism.name: mechanism
    for mechanism in (
        memory_retrieval.MECHANISM,
        goal_summary.MECHANISM,
        topic_analysis.MECHANISM,
        time_analysis.MECHANISM,
        speech_frequency.MECHANISM,
        mention_response.MECHANISM,
    )
}


def mechanism_of(context: Context, name: str) -> Mechanism:
    """Return a mechanism of the run, of its extensions or shipped."""
    found: Mechanism = context.mechanisms[name] if name in context.mechanisms else MECHANISMS[name]
    return found


def description_of(mechanism: Mechanism, language: str) -> str:
    """Return the purpose of a mechanism, in a language; that of an extension is in its author's words."""
    texts, entry = template("cognition", language), f"ways.{mechanism.name}"
    return texts.fill(entry, {}) if entry in texts else mechanism.description
