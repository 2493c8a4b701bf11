"""Runs of every kind in German, French and Spanish: nothing that a model is asked in them is English but keys."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from support.commands import Cli
from support.english import COMMON, words_of
from support.ga_builder import RunBuilder, node
from support.protocol_server import serving

from tertulia.models import rehearsed_words
from tertulia.nodes.mechanisms.registry import MECHANISMS
from tertulia.prompts.templates import read_yaml
from tertulia.state.cognition import Assessment, Finding
from tertulia.state.meeting import EMOTIONS
from tertulia.storage.store import SqlStore

pytestmark = pytest.mark.full


class Spoken(NamedTuple):
    """What people of a language have in scenarios, and what the rehearsal says in it."""

    dialogue: str
    meeting: str
    villagers: str
    remarks: tuple[str, ...]
    topics: tuple[str, ...]
    doing: tuple[str, str]
    places: str
    no_object: str


SPOKEN = {
    "de": Spoken(
        dialogue="""
name: Der verlorene Schlüssel
language: Deutsch
description: Im Haus fehlt seit gestern ein Schlüssel.
time: 2024-05-01 09:30:00
place: die Küche der Herberge
participants:
  - {name: Marta Lenz, age: 41, traits: "ruhig, genau", activity: räumt Schubladen aus,
     background: Marta führt das Haus.,
     memories: [Marta war gestern im Park., {text: Jens kam spät., time: 2024-04-01 10:00:00}]}
  - {name: Jens Roth, activity: kocht Kaffee, memories: [Jens kam ohne Mantel nach Hause., Jens schläft schlecht.]}
previous_dialogues:
  - {time: 2024-04-01 10:00:00, lines: [[Marta Lenz, "Ist die Tür zu?"], [Jens Roth, Ja.]]}
""",
        meeting="""
kind: group_chat
language: de
name: Das undichte Dach
description: Der Verein hat Geld für eine Reparatur und muss sagen, für welche.
time: 2026-05-14 18:00:00
ends: 2026-05-14 18:20:00
place: der Vereinsraum
opening: {speaker: Marta, text: "Jens, das Geld reicht nur für eines. Was meinst du?"}
participants:
  - name: Marta
    background: Marta führt die Kasse.
    traits: [extroverted, closed]
    interests: [Rechnungen, Dächer]
    relations: {Jens: Jens schuldet ihr einen Gefallen.}
    setting: Marta sitzt an der Tür.
    goals: [{goal: das Dach reparieren, sub_goals: [Jens überzeugen, einen Tag festlegen]}]
    memories: [Marta wurde letztes Jahr nass.]
    emotion: worried
  - {name: Jens, goals: [die Tür], schedule: {joins: "18:00", leaves: "18:02", reason: seine Schwester abholen}}
  - {name: Ute, goals: [Geld sparen], schedule: {joins: "18:01"}}
""",
        villagers="""
title: Am Markt
place: der Marktplatz
villagers:
  - {name: Rosa, properties: {Beruf: Bäckerin}, album: [ein roter Drachen, eine Steinbrücke]}
  - {name: Karl, properties: {Beruf: Fischer}, album: [ein Kupferkessel, ein Boot]}
""",
        remarks=("Jens, was hältst du von {a}?", "Ich denke oft an {a}.", "Erst {a}, dann {b}."),
        topics=("Dach", "Tür", "Geld"),
        doing=("liest ein Buch", "geht spazieren"),
        places="Stadt:Haus:Zimmer:Bett",
        no_object="Diese Antwort ist unbrauchbar: es ist kein JSON-Objekt darin.",
    ),
    "fr": Spoken(
        dialogue="""
name: La clé perdue
language: français
description: Une clé manque dans la maison depuis hier.
time: 2024-05-01 09:30:00
place: la cuisine de l'auberge
participants:
  - {name: Anaïs Roy, age: 41, traits: "calme, précise", activity: vide les tiroirs, background: Anaïs tient la maison.,
     memories: [Anaïs était au parc hier., {text: Éric est rentré tard., time: 2024-04-01 10:00:00}]}
  - {name: Éric Blin, activity: fait du café, memories: [Éric est rentré sans manteau., Éric dort mal.]}
previous_dialogues:
  - {time: 2024-04-01 10:00:00, lines: [[Anaïs Roy, "La porte est fermée ?"], [Éric Blin, Oui.]]}
""",
        meeting="""
kind: group_chat
language: fr
name: Le toit qui fuit
description: "Le club a de l'argent pour une réparation et doit dire laquelle."
time: 2026-05-14 18:00:00
ends: 2026-05-14 18:20:00
place: la salle du club
opening: {speaker: Anaïs, text: "Éric, l'argent ne suffit que pour une chose. Qu'en penses-tu ?"}
participants:
  - name: Anaïs
    background: Anaïs tient la caisse.
    traits: [extroverted, closed]
    interests: [comptes, toits]
    relations: {Éric: Éric lui doit un service.}
    setting: Anaïs est assise près de la porte.
    goals: [{goal: réparer le toit, sub_goals: [convaincre Éric, fixer un jour]}]
    memories: [Anaïs a pris la pluie il y a un an.]
    emotion: worried
  - {name: Éric, goals: [réparer la porte], schedule: {joins: "18:00", leaves: "18:02", reason: aller chercher sa sœur}}
  - {name: Odile, goals: [économiser], schedule: {joins: "18:01"}}
""",
        villagers="""
title: Au marché
place: la place du marché
villagers:
  - {name: Rose, properties: {Métier: boulangère}, album: [un pont de pierre, une lanterne]}
  - {name: Abel, properties: {Métier: pêcheur}, album: [une bouilloire de cuivre, un bateau]}
""",
        remarks=(
            "Éric, que dis-tu de ceci : {a} ?",
            "Je pense souvent à ceci : {a}.",
            "Pour moi, {a} passe avant {b}.",
        ),
        topics=("toit", "porte", "argent"),
        doing=("lit un livre", "se promène"),
        places="Ville:Maison:Chambre:Lit",
        no_object="Cette réponse est inutilisable : elle ne contient pas d'objet JSON.",
    ),
    "es": Spoken(
        dialogue="""
name: La llave perdida
language: español
description: En la casa falta una llave desde ayer.
time: 2024-05-01 09:30:00
place: la cocina del albergue
participants:
  - {name: Inés Vega, age: 41, traits: "tranquila, exacta", activity: vacía los cajones,
     background: Inés lleva la casa.,
     memories: [Inés estuvo ayer en el parque., {text: Hugo llegó tarde., time: 2024-04-01 10:00:00}]}
  - {name: Hugo Sanz, activity: hace café, memories: [Hugo volvió sin abrigo., Hugo duerme mal.]}
previous_dialogues:
  - {time: 2024-04-01 10:00:00, lines: [[Inés Vega, "¿Está cerrada la puerta?"], [Hugo Sanz, Sí.]]}
""",
        meeting="""
kind: group_chat
language: es
name: El tejado con goteras
description: El club tiene dinero para un arreglo y hay que decir para cuál.
time: 2026-05-14 18:00:00
ends: 2026-05-14 18:20:00
place: la sala del club
opening: {speaker: Inés, text: "Hugo, el dinero solo llega para una cosa. ¿Qué opinas?"}
participants:
  - name: Inés
    background: Inés lleva las cuentas.
    traits: [extroverted, closed]
    interests: [cuentas, tejados]
    relations: {Hugo: Hugo le debe un favor.}
    setting: Inés está sentada junto a la puerta.
    goals: [{goal: arreglar el tejado, sub_goals: [convencer a Hugo, fijar un día]}]
    memories: [Inés se mojó el año pasado.]
    emotion: worried
  - {name: Hugo, goals: [arreglar la puerta], schedule: {joins: "18:00", leaves: "18:02", reason: recoger a su hermana}}
  - {name: Pilar, goals: [ahorrar], schedule: {joins: "18:01"}}
""",
        villagers="""
title: En el mercado
place: la plaza del mercado
villagers:
  - {name: Rosa, properties: {Oficio: panadera}, album: [una cometa roja, un puente de piedra]}
  - {name: Abel, properties: {Oficio: pescador}, album: [una tetera de cobre, un barco]}
""",
        remarks=("Hugo, ¿qué dices de {a}?", "Pienso a menudo en {a}.", "Primero {a}, después {b}."),
        topics=("tejado", "puerta", "dinero"),
        doing=("lee un libro", "pasea"),
        places="Ciudad:Casa:Cuarto:Cama",
        no_object="Esa respuesta no sirve: no contiene ningún objeto JSON.",
    ),
}

_FOLDER = resources.files("tertulia.prompts") / "templates"
#: What only researchers are asked, and lists of names.
_NOT_ASKED = ("inventory.yaml", "speech_acts.yaml", "names.yaml")
#: Words that a model may read in English: names of mechanisms, and what answers are in.
_ALLOWED = {*MECHANISMS, "topic", "goal", "emotion", "personality", "yes", "no", "true", "false", "json"}
_KEY = re.compile(r'"(?:[^"\\]|\\.)*"(?=:)')


def texts_in(document: Any) -> Iterator[str]:
    """The texts of a template, but for its keys; a step of an example is a key."""
    if isinstance(document, dict):
        yield from (key for key in document if isinstance(key, str) and " " in key)
        document = [value for key, value in document.items() if key != "variables"]
    if isinstance(document, list):
        yield from (text for part in document for text in texts_in(part))
    elif isinstance(document, str):
        yield document


@lru_cache
def english_words(language: str) -> frozenset[str]:
    """Common English words, and those of the English templates that the language's own, and its scenarios, lack."""

    def words_in(folder: Any) -> set[str]:
        files = [file for file in folder.iterdir() if file.is_file() and file.name not in _NOT_ASKED]
        return words_of(" ".join(text for file in files for text in texts_in(read_yaml(file.read_text("utf-8")))))

    described = " ".join(mechanism.description for mechanism in MECHANISMS.values())
    own = words_in(_FOLDER / language) | words_of(" ".join(map(str, SPOKEN[language])))
    return COMMON | ((words_in(_FOLDER) | words_of(described)) - own - _ALLOWED)


def english_in(text: str, language: str) -> set[str]:
    """The English words of a text that are no keys of JSON."""
    return words_of(_KEY.sub("", text)) & english_words(language)


@pytest.fixture(params=sorted(SPOKEN))
def language(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A language that the rehearsal speaks."""
    spoken = SPOKEN[request.param]
    words = replace(
        rehearsed_words.WORDS,
        openings=(f"{spoken.topics[0]}.",),
        endings=(f"{spoken.topics[1]}?",),
        remarks=spoken.remarks,
        comments=spoken.remarks,
        topic=lambda texts, generator: generator.choice(spoken.topics),  # or it takes up keys of forms
    )
    monkeypatch.setattr(rehearsed_words, "WORDS", words)
    code: str = request.param
    return code


def texts_asked(store: SqlStore) -> Iterator[tuple[str, str]]:
    """The prompt of every call with the node that asked, and the continuations and choices offered beside it."""
    for run in store.runs():
        for call in store.calls(run.run):
            units = [unit.text for unit in store.prompt(call.prompt).units]
            choices = [choice for field in call.parameters.get("fields", ()) for choice in field.get("choices", ())]
            yield call.node, "\n".join([*units, *choices, *call.parameters.get("options", ())])


def nodes_asked(cli: Cli, language: str, scenario: str, *arguments: str) -> set[str]:
    """Who asked a model in a run, after a look at what they asked."""
    Path("s.yaml").write_text(scenario, encoding="utf-8")
    run = cli(*arguments, "--store", "s.db")
    assert run.code == 0, run.err
    assert "English" not in run.err + run.out
    with SqlStore.open("s.db") as store:
        asked = list(texts_asked(store))
    assert [(node, found, text) for node, text in asked if (found := english_in(text, language))] == []
    assert asked
    return {node for node, _ in asked}


def settings(*given: str) -> list[str]:
    return [word for setting in given for word in ("--set", setting)]


MEETING_STEPS = {"personality", "plan", "choose_mechanisms", "assess"}


@pytest.mark.parametrize("language", sorted(SPOKEN))
def test_english_would_be_found(language: str) -> None:
    for sentence in (
        "What does Ana say to Bo next?",
        "Answer with one JSON object of this form:",
        "Speak in one to three short sentences.",
        "(ten seconds of silence)",
        "There is no need to hurry.",
        "count who has spoken how often",
        "Right now you feel calm",
    ):
        assert english_in(sentence, language), sentence


@pytest.mark.parametrize(
    ("given", "asks"),
    [
        (("layout=single_message", "human_needs=true"), {"generate"}),
        (("layout=chat_turns", "human_needs=true", "ending=continuation"), {"generate"}),
        (("judge=rating", "revision=combined", "inconsistency_threshold=1"), {"judge", "rewrite"}),
        (("generation=sequential", "layout=single_message"), {"generate"}),
    ],
)
def test_a_dialogue_is_asked_for_in_the_language(
    cli: Cli, language: str, given: tuple[str, ...], asks: set[str]
) -> None:
    arguments = ("run", "s.yaml", "--rehearse", "--rounds", "4", "--lambda", "0.7", *settings(*given))
    assert nodes_asked(cli, language, SPOKEN[language].dialogue, *arguments) >= asks


@pytest.mark.parametrize(
    "given", [("layout=single_message",), ("layout=chat_turns", "willingness=rated", "hearing=noticed")]
)
def test_a_meeting_asks_its_agents_in_the_language(cli: Cli, language: str, given: tuple[str, ...]) -> None:
    arguments = ("run", "s.yaml", "--rehearse", "--rounds", "8", "--lambda", "0.5", *settings(*given))
    nodes = nodes_asked(cli, language, SPOKEN[language].meeting, *arguments)
    assert nodes >= MEETING_STEPS | {"goal_summary", "topic_analysis"} | ({"decide"} if len(given) > 1 else set())
    with SqlStore.open("s.db") as store:  # what a model chose in the language is stored in English
        (run,) = [run.run for run in store.runs()]
        assessed = store.steps(run, "assess", Assessment, 1, 8).values()
        topics = store.steps(run, "topic_analysis", Finding, 1, 8).values()
    assert {assessment.emotion for assessment in assessed} <= set(EMOTIONS)
    assert {finding.data["move"] for finding in topics} <= {"keep", "shift", "pause"}
    assert all((assessed, topics))


def test_choices_by_probabilities_are_offered_in_the_language(cli: Cli, language: str) -> None:
    given = settings("choices=probabilities", "layout=chat_turns")
    arguments = ("run", "s.yaml", "--rehearse", "--rounds", "6", *given)
    nodes = nodes_asked(cli, language, SPOKEN[language].meeting, *arguments)
    assert nodes >= {"weigh_feeling", "weigh_mechanism", "weigh_step_0"}


@pytest.mark.parametrize("order", ["centralised", "designated"])
def test_who_speaks_next_is_asked_in_the_language(cli: Cli, language: str, order: str) -> None:
    arguments = ("run", "s.yaml", "--rehearse", "--rounds", "5", "--set", f"order={order}")
    assert order in nodes_asked(cli, language, SPOKEN[language].meeting, *arguments)


@pytest.mark.parametrize("setting", ["low", "high"])
def test_an_album_chat_is_asked_for_in_the_language(cli: Cli, language: str, setting: str) -> None:
    given = settings("villagers=s.yaml", f"language={language}", "layout=chat_turns")
    arguments = ("run", "villagers", "--rehearse", "--rounds", "3", "--set", f"setting={setting}", *given)
    nodes = nodes_asked(cli, language, SPOKEN[language].villagers, *arguments)
    assert len(nodes) >= 3  # the plan, the question and the answer


def test_days_of_a_town_are_remembered_in_the_language(cli: Cli, language: str, tmp_path: Path) -> None:
    spoken = SPOKEN[language]
    names = ("Rosa", "Abel")
    lines = [["Rosa", spoken.remarks[0].format(a="X", b="Y")], ["Abel", spoken.remarks[1].format(a="Y")]]
    run = RunBuilder(tmp_path / "run").talk("12:00:00", *names, lines, spoken.topics[0])
    for name, doing in zip(names, spoken.doing, strict=True):
        did = node("event", "09:00:00", f"{name} {doing}", name, doing.split()[0], doing.partition(" ")[2] or doing)
        run.person(name, did, innate=spoken.topics[1], currently=f"{name} {doing}")
    run.write()
    town = ("simulate", f"ga:{run.folder}", "--days", "1", "--encounters-per-day", "2", "--rehearse")
    given = settings(f"language={language}", "reflection_threshold=1", "layout=chat_turns")
    nodes = nodes_asked(cli, language, spoken.dialogue, *town, *given)
    assert nodes >= {"summarise", "rate_importance", "reflect"}


def test_a_hosted_model_is_told_in_the_language_what_form_its_reply_has(cli: Cli, language: str) -> None:
    yes = {"de": "Ja, sicher", "fr": "oui", "es": "Sí"}[language]

    def answer(request: dict[str, Any]) -> str:
        form = json.loads(re.findall(r"\{.*\}", request["messages"][-1]["content"])[-1])
        return json.dumps({name: value_of(described) for name, described in form.items()}, ensure_ascii=False)

    def value_of(described: str) -> object:
        if numbers := re.fullmatch(r"\D+ (\d+) (?:bis|à|a) (\d+)", described):
            return f"{numbers[2]}/10"
        if described.startswith("true o"):
            return yes
        if choices := re.match(r"(?:eins hiervon|au choix|a elegir) ?: (.*)", described):
            return choices[1].split(", ")[-1]
        return SPOKEN[language].remarks[1].format(a="X")

    with serving(answer=answer, failures=["wrong_json", "half_json"]) as served:
        arguments = ("run", "s.yaml", "--model", served.model, "--rounds", "3", "--lambda", "0")
        nodes = nodes_asked(cli, language, SPOKEN[language].meeting, *arguments)
    assert nodes >= MEETING_STEPS
    messages = [message for request in served.requests for message in request["messages"]]
    sent = [message["content"] for message in messages if message["role"] != "assistant"]
    assert [(found, text) for text in sent if (found := english_in(text, language))] == []
    assert any(text.startswith(SPOKEN[language].no_object) for text in sent)
    schemas = [request["response_format"]["json_schema"] for request in served.requests]
    described = [field["description"] for schema in schemas for field in schema["schema"]["properties"].values()]
    assert {word for text in described for word in english_in(text, language)} == set()
