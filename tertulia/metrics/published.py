"""The published figures of ChatAgents' team-building meeting, to compare runs with.

The paper's Table II is not of the run that its text describes (80 utterances against 89 turns, 119 decisions against a
limit of 100 rounds): the people's figures are the table's, those of the whole meeting the text's. Words and speaking
times are not published. Evenness and shares follow from the table's utterances.

Source: ChatAgents Tab. II (people, `published.yaml`), §IV-C (the whole meeting).
"""

from importlib.resources import files
from typing import Any

import yaml

from tertulia.metrics.participation import AgentFigures, OnOff, Participation, evenness

_TABLE: dict[str, Any] = yaml.safe_load(
    files("tertulia.metrics").joinpath("published.yaml").read_text(encoding="utf-8")
)
_DECISIONS: int = _TABLE["decisions"]
_SPOKEN: list[int] = [person["spoken"] for person in _TABLE["people"]]


def _figures(person: dict[str, Any]) -> AgentFigures:
    of_mechanisms = zip(_TABLE["mechanisms"], person["rounds_on"], strict=True)
    values = {
        **{name: value for name, value in person.items() if name != "rounds_on"},
        "decisions": _DECISIONS,
        "mechanisms": {mechanism: OnOff(on=on, off=_DECISIONS - on) for mechanism, on in of_mechanisms},
        "share_of_utterances": person["spoken"] / sum(_SPOKEN),
        **dict.fromkeys(("words", "speaking_time_s", "share_of_speaking_time")),
    }
    return AgentFigures.model_validate(values)


TEAM_BUILDING = Participation(
    agents=tuple(map(_figures, _TABLE["people"])),
    turns=89,
    silences=14,
    silence_s=70,
    sim_minutes=28.06,
    evenness=evenness(_SPOKEN),
)
