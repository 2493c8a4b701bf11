"""Where names are not put back, what was said and who said it are in the names of the prompt, in figures too."""

from typing import Any

from support.dialogue_case import a_context
from support.scripted import ScriptedModel

from tertulia.graphs.utterance import build_utterance_graph


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
