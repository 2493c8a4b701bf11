"""Where names are not put back, what was said and who said it are in the names of the prompt, in figures too."""

from pathlib import Path
from typing import Any

from support.commands import Cli
from support.dialogue_case import a_context
from support.scripted import ScriptedModel

from tertulia.graphs.utterance import build_utterance_graph
from tertulia.storage.store import SqlStore
from tertulia.views.measuring.cases import collect_cases
from tertulia.views.measuring.dialogue_file import read_dialogues

RUN = ("run", "tidewell", "--rehearse", "--rounds", "4", "--lambda", "0", "--set", "ending=off", "--json")


async def test_names_of_its_own_that_a_model_writes_are_replaced_where_they_are_not_put_back() -> None:
    start: Any = {"turn": 1, "round": 1, "speaker": "Mara", "present": ["Mara", "Piotr"], "sim_time_s": 0.0}
    texts = {}
    for put_back in (False, True):
        context = a_context(
            ScriptedModel(speech=["I am Mara, and he is Cloud."]),
            removal_factor=0,
            names="Mara=Tifa,Piotr=Cloud",
            names_put_back=put_back,
        )
        await build_utterance_graph().ainvoke(start, context=context)
        texts[put_back] = context.store.candidates("k3f9", 1)[0].text
    assert texts == {False: "I am Tifa, and he is Cloud.", True: "I am Mara, and he is Piotr."}


def test_figures_have_the_names_of_the_prompt_where_they_are_not_put_back(cli: Cli, tmp_path: Path) -> None:
    runs = {}
    for put_back in ("true", "false"):
        settings = ("--set", "names=famous", "--set", f"names_put_back={put_back}")
        runs[put_back] = str(cli(*RUN, *settings).json["run"])
    with SqlStore.open(str(tmp_path / "tertulia.db")) as store:
        spoken = {name: collect_cases([], [run], store).dialogues for name, run in runs.items()}
    lines = {name: [line for (dialogue,) in cases.values() for line in dialogue] for name, cases in spoken.items()}
    speakers = {name: {speaker for speaker, _ in dialogue} for name, dialogue in lines.items()}
    assert speakers == {"true": {"Emeka Obiora", "Leila Haddad"}, "false": {"Harry Potter", "Severus Snape"}}
    for name, run in runs.items():
        exported = tmp_path / f"{name}.jsonl"
        exported.write_text(cli("export", run, "--jsonl", "-").out, encoding="utf-8")
        (entry,) = read_dialogues(exported)
        assert [tuple(line) for line in entry.dialogue] == lines[name]
    shown = cli("show", runs["false"], "--turn", "1", "--json").json
    assert (shown["speaker"], shown["spoken_name"]) == ("Emeka Obiora", "Harry Potter")
    by_names = cli("metrics", runs["true"], runs["false"], "--by", "names_put_back", "--json").json["cases"]
    assert set(by_names) == {f"tidewell, names_put_back {put_back}" for put_back in (True, False)}
