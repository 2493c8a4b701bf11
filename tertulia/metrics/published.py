"""The published figures of ChatAgents' team-building meeting, to compare runs with.

The paper's Table II is not of the run that its text describes (80 utterances against 89 turns, 119 decisions against a
limit of 100 rounds): the people's figures are the table's, those of the whole meeting the text's. Words and speaking
times are not published. Evenness and shares follow from the table's utterances.

Source: ChatAgents Tab. II (people), §IV-C (the whole meeting).
"""

from tertulia.metrics.participation import AgentFigures, Latency, OnOff, Participation, evenness

_MECHANISMS = ("memory_retrieval", "goal_summary", "topic_analysis", "time_analysis", "speech_frequency")

#: Name, μ₀ and σ₀, traits, setting; spoken, wanting, silent; rounds in which each mechanism was on; wanting and
#: speaking after a silence. Everybody decided in 119 rounds.
_ROWS: tuple[tuple[str, tuple[float, float], str, str, tuple[int, int, int], tuple[int, ...], tuple[int, int]], ...] = (
    (
        "Alice",
        (3.6, 3.0),
        "introverted, agreeable, unconscientious, neurotic, open",
        "gives more weight to what Bob thinks",
        (8, 11, 108),
        (82, 21, 0, 56, 71),
        (2, 1),
    ),
    (
        "Bob",
        (4.3, 2.5),
        "extroverted, agreeable, unconscientious, emotionally stable, closed",
        "has to leave at 3:15 p.m.",
        (18, 28, 91),
        (12, 35, 8, 119, 35),
        (9, 5),
    ),
    (
        "Cindy",
        (3.9, 2.8),
        "extroverted, antagonistic, unconscientious, emotionally stable, open",
        "does not like it when nobody talks",
        (29, 36, 83),
        (27, 17, 0, 64, 110),
        (15, 13),
    ),
    (
        "David",
        (4.8, 2.0),
        "introverted, antagonistic, unconscientious, emotionally stable, closed",
        "cares little about the team-building",
        (10, 18, 101),
        (57, 4, 5, 61, 53),
        (1, 0),
    ),
    (
        "Eva",
        (4.5, 2.6),
        "extroverted, agreeable, conscientious, neurotic, open",
        "wants time, place, form and contents settled",
        (15, 20, 99),
        (46, 60, 34, 90, 94),
        (3, 3),
    ),
)
_DECISIONS = 119
_SPOKEN = [spoken for _, _, _, _, (spoken, _, _), _, _ in _ROWS]


def _figures() -> tuple[AgentFigures, ...]:
    return tuple(
        AgentFigures(
            agent=name,
            latency=Latency(scale_s=scale, spread_s=spread),
            traits=tuple(traits.split(", ")),
            setting=setting,
            spoken=spoken,
            wanting_to_speak=wanting,
            silent=silent,
            decisions=_DECISIONS,
            mechanisms={m: OnOff(on=n, off=_DECISIONS - n) for m, n in zip(_MECHANISMS, on, strict=True)},
            wanting_after_silence=wanting_after,
            speaking_after_silence=speaking_after,
            words=None,
            speaking_time_s=None,
            share_of_utterances=spoken / sum(_SPOKEN),
            share_of_speaking_time=None,
        )
        for name, (scale, spread), traits, setting, (spoken, wanting, silent), on, (wanting_after, speaking_after) in (
            _ROWS
        )
    )


TEAM_BUILDING = Participation(
    agents=_figures(), turns=89, silences=14, silence_s=70, sim_minutes=28.06, evenness=evenness(_SPOKEN)
)
