"""Another case's items in the place of a case's own: found when a run is planned, and stored with its start.

A placebo: as much context, of other people. A run that goes on, or a fork, needs the other scenario no more.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tertulia.runs.access.named_files import is_shipped, scenarios_in
from tertulia.runs.planning.prompt_language import texts_of
from tertulia.state.case_seed import case_seed_of
from tertulia.state.errors import SettingError
from tertulia.state.languages import language_by_words, language_of
from tertulia.state.meeting import Start
from tertulia.state.parameters import Parameters
from tertulia.state.records import Case

#: The ending of a scenario's name that means all its cases.
_ALL = ":all"

#: Fields of a case in which nobody is named.
_NOT_RENAMED = frozenset({"scenario", "id", "kind", "created", "time", "withheld", "stream", "model"})


def with_other_items(start: Start, parameters: Parameters) -> Start:
    """Return a start with the case that `items_from` names, its people under the names of those here.

    The n-th person of that case replaces the n-th here. Of several cases it is the first that will do, of `:all`
    from a place on that the case's content gives, so that not all cases get the same.

    Raises:
        SettingError: The start is no dialogue of two, or no case that is named can stand for it.
        NotFoundError, ScenarioError: The named case does not exist, or can't be read.
    """
    chosen = parameters.items_from
    if not isinstance(start, Case):
        if chosen is None:
            return start
        kind = "a meeting" if start.kind == "group_chat" else "an album chat"
        problem = f": {start.scenario} is {kind}, and only a dialogue of two takes the items of another; leave it out"
        raise SettingError("items_from", chosen, problem)
    if chosen is None:
        return start if start.items_from is None else start.model_copy(update={"items_from": None})
    from tertulia.worlds.catalog import resolve

    problem = "no case is named"
    for scenario in _scenarios(chosen, start):
        other = resolve(scenario)
        found = _problem_of(other, start, parameters)
        if isinstance(other, Case) and found is None:
            return start.model_copy(update={"items_from": under_names_of(other, start)})
        problem = f"{scenario} {found}"
    raise SettingError("items_from", chosen, f" can't stand for {start.scenario}: {problem}; name another case")


def check_named_by_file(scenario: object, given: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    """Refuse an `items_from` of a scenario file that is no shipped scenario: it names no file of the reader.

    Args:
        scenario: Its name, for the message.
        given: Settings of the scenario.
        settings: Settings of the user.

    Raises:
        SettingError: A scenario that it names is not shipped.
    """
    chosen = given.get("items_from")
    if "items_from" in settings or not isinstance(chosen, str) or all(map(is_shipped, scenarios_in(chosen))):
        return
    problem = (
        f": {scenario} names it, and a scenario may name only what is shipped; name it yourself: --set items_from="
    )
    raise SettingError("items_from", chosen, f"{problem}{chosen}")


def under_names_of(other: Case, start: Case) -> Case:
    """Return another case in which the n-th person has the name of the n-th person of a case.

    If the other case speaks of the people here, they get the names that have become free there.
    """
    from tertulia.prompts.renaming import Renaming, first_name

    names = dict(zip(other.names, start.names, strict=True))
    written = json.dumps(other.model_dump(mode="json"), ensure_ascii=False)
    firsts = {first_name(name) for name in other.names}
    for here, there in zip(start.names, other.names, strict=True):
        called = {here, first_name(here)} - firsts
        if any(re.search(rf"\b{re.escape(form)}\b", written) for form in called):
            names[here] = there
    renaming = Renaming(names, tuple(names))

    def renamed(value: Any) -> Any:
        if isinstance(value, str):
            return renaming.rename(value)
        if isinstance(value, dict):
            return {key: part if key in _NOT_RENAMED else renamed(part) for key, part in value.items()}
        return [renamed(part) for part in value] if isinstance(value, list) else value

    return Case.model_validate(renamed(other.model_dump(mode="json", exclude={"items_from"})))


def _scenarios(chosen: str, start: Case) -> Iterator[str]:
    """Yield the scenarios that may stand for a case, in the order in which they are tried."""
    from tertulia.worlds.catalog import list_cases

    for scenario in scenarios_in(chosen):
        if not scenario.endswith(_ALL):
            yield scenario
            continue
        cases = [listed.case.scenario for listed in list_cases(scenario.removesuffix(_ALL)).cases]
        first = case_seed_of(start) % max(1, len(cases))
        yield from (*cases[first:], *cases[:first])


def _problem_of(other: Start, start: Case, parameters: Parameters) -> str | None:
    """Return why the items of a case can't stand in the place of another's; `None` if they can."""
    if not isinstance(other, Case):
        return "is no dialogue of two"
    if shared := [name for name in start.names if name in other.names]:
        return f"has {' and '.join(shared)} too, and somebody else's items are wanted"
    if language_of(texts_of(start)) != language_of(texts_of(other)):
        return "is in another language"
    by_words = {language_by_words(texts_of(case)) for case in (start, other)} - {None}  # short texts do not tell
    if len(by_words) > 1:
        return "is in another language"
    replaced = set(parameters.removable_blocks) - set(parameters.removed_blocks)
    shows_dialogues = "p" in replaced and parameters.previous_dialogues_max > 0
    if shows_dialogues and start.previous_dialogues and not other.previous_dialogues:
        return "has no earlier dialogues, and here are some"
    if "m" in replaced:
        for here, there in zip(start.names, other.names, strict=True):
            own = start.participant(here)
            if (own.memories or own.stream is not None) and not other.participant(there).memories:
                return f"has no memories of {there}, and {here} has some"
    return None
