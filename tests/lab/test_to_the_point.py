"""Recited memories, a shuffled dialogue and the partner's memories are less to the point than the real dialogue."""

from collections.abc import Callable

import pytest

from tertulia.metrics.diversity import Dialogue
from tertulia.metrics.to_the_point import ToThePoint, texts_of_case, to_the_point
from tertulia.models.loading import open_embedder
from tertulia.models.local.embedder import weights
from tertulia.nodes.shared.names_in_text import without_names
from tertulia.state.language_model import Embedder
from tertulia.state.randomness import keyed_generator
from tertulia.state.records import Case
from tertulia.views.measuring.dialogues import logged_dialogues
from tertulia.views.measuring.line_checks import checks_of


def place(case: Case, dialogue: Dialogue) -> Dialogue:
    return [(speaker, f"I am at {case.place}.") for speaker, _ in dialogue[:4]]


def recited(case: Case, dialogue: Dialogue) -> Dialogue:
    draw = keyed_generator(1, agent="".join(case.names), node="recited")
    return [(speaker, draw.choice(case.participant(speaker).memories).text) for speaker, _ in dialogue]


def partners(case: Case, dialogue: Dialogue) -> Dialogue:
    other = {name: case.other(name).persona.name for name in case.names}
    said = recited(case, [(other[speaker], text) for speaker, text in dialogue])
    return [(other[speaker], text) for speaker, text in said]


def shuffled(case: Case, dialogue: Dialogue) -> Dialogue:
    draw = keyed_generator(1, agent="".join(case.names), node="shuffled")
    return [(speaker, " ".join(draw.sample(words := text.split(), len(words)))) for speaker, text in dialogue]


def measured(dialogues: dict[str, Dialogue], cases: dict[str, Case], embedder: Embedder) -> dict[str, ToThePoint]:
    masked = {name: [[without_names(text, cases[name].names) for _, text in said]] for name, said in dialogues.items()}
    texts = {name: [without_names(text, case.names) for text in texts_of_case(case)] for name, case in cases.items()}
    checks = {name: [checks_of(said, cases[name], embedder)] for name, said in dialogues.items()}
    return to_the_point(masked, texts, embedder, checks)


@pytest.mark.slow
@pytest.mark.parametrize("attack", [place, recited, partners, shuffled])
def test_an_attack_is_below_the_real_dialogue(attack: Callable[[Case, Dialogue], Dialogue]) -> None:
    if weights() is None:
        pytest.skip("the embedder's weights are not installed")
    logged = logged_dialogues("tidewell")
    cases = {name: case for name, (_, case) in logged.items()}
    embedder = open_embedder("minilm")
    real = measured({name: dialogue for name, (dialogue, _) in logged.items()}, cases, embedder)
    made = {name: attack(case, dialogue) for name, (dialogue, case) in logged.items()}
    assert len(real) == 8
    for name, figures in measured(made, cases, embedder).items():
        assert (figures.to_the_point or 0) < (real[name].to_the_point or 0), name
