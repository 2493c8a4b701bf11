"""What people in the shipped meetings miss, with the embedded embedder: hardly anything that belongs there."""

from collections.abc import Sequence
from typing import cast

import pytest
from support.perceived_lines import Line, in_scene, shipped_probes

from tertulia.models.loading import open_embedder
from tertulia.state.language_model import Embedder
from tertulia.worlds.catalog import MEETINGS

pytestmark = [pytest.mark.slow, pytest.mark.full]


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    opened, known = open_embedder("minilm"), dict[str, list[float]]()

    class Once:
        """Embeds each text once: everybody perceives the same lines."""

        id = opened.id

        def embed(self, texts: Sequence[str]) -> list[list[float]]:
            new = list(dict.fromkeys(text for text in texts if text not in known))
            known.update(zip(new, opened.embed(new) if new else [], strict=True))
            return [known[text] for text in texts]

    return cast(Embedder, Once())


def share_missed(lines: list[Line]) -> float:
    return sum(line.missed for line in lines) / len(lines)


@pytest.mark.parametrize("label", MEETINGS)
def test_of_seventeen_sensible_lines_nobody_misses_more_than_three(label: str, embedder: Embedder) -> None:
    probe = next(probe for probe in shipped_probes() if probe.label == label)
    lines = list(in_scene(probe, embedder))
    for name in probe.meeting.names:
        assert share_missed([line for line in lines if line.belongs and line.agent == name]) <= 3 / 17
    off_topic = share_missed([line for line in lines if not line.belongs])
    assert off_topic > share_missed([line for line in lines if line.belongs]) + 0.25


def test_even_without_those_before_nobody_misses_more_than_three_lines_of_the_team_day(embedder: Embedder) -> None:
    probe = next(probe for probe in shipped_probes() if probe.label == "team_building")
    lines = list(in_scene(probe, embedder, remembers=False))
    for name in probe.meeting.names:
        assert share_missed([line for line in lines if line.belongs and line.agent == name]) <= 3 / 17
