"""Concordia: the shipped entities and the shipped game master for conversations, with a checkpoint after every step.

Options: `entity` is `basic__Entity` (three questions before each act) or `minimal__Entity` (none). What its tutorial
lets a model invent before the first step (formative memories) is left out: everybody observes their memories instead.
Texts are embedded by a stand-in without weights, as in the tutorial where models are switched off.
"""

import contextlib
import hashlib
import json
import sys

import concordia.prefabs.entity as entity_prefabs
import concordia.prefabs.game_master as game_master_prefabs
import numpy as np
from concordia.contrib.language_models.openai.gpt_model import GptLanguageModel
from concordia.prefabs.simulation import generic
from concordia.typing import prefab
from concordia.utils import helper_functions

from benchmarks.peers.drivers.conversation import Conversation, Person, Stopwatch, given


def hold(conversation: Conversation) -> None:
    """Hold the conversation, or what is left of it, and report."""
    simulation = generic.Simulation(
        config=configuration(conversation),
        model=GptLanguageModel(conversation.model, api_key="none", api_base=conversation.address),
        embedder=embed,
    )
    checkpoints = sorted(conversation.path.glob("*/*.json"), key=lambda file: file.stat().st_mtime_ns)
    kept, premise = 0, conversation.situation
    watch = Stopwatch()
    if conversation.resumes and checkpoints:
        checkpoint = json.loads(checkpoints[-1].read_text(encoding="utf-8"))
        simulation.load_from_checkpoint(checkpoint)
        kept, premise = len(checkpoint["raw_log"]), ""
    else:
        for entity, person in zip(simulation.get_entities(), conversation.people, strict=True):
            for memory in (person.persona, *person.memories):
                entity.observe(memory)
        if conversation.opening:
            premise += f" {conversation.opening[0]}: {conversation.opening[1]}"
    with contextlib.redirect_stdout(sys.stderr):
        simulation.play(
            premise=premise,
            max_steps=conversation.turns - kept,
            get_state_callback=lambda _: watch.spoken(),
            checkpoint_path=str(conversation.path / f"from_{kept}"),
        )
    watch.report([utterance(step) for step in simulation.get_raw_log()], kept)


def configuration(conversation: Conversation) -> prefab.Config:
    """Return the people and the game master."""
    instances = [
        prefab.InstanceConfig(
            prefab=conversation.options["entity"], role=prefab.Role.ENTITY, params=parameters(person, conversation)
        )
        for person in conversation.people
    ]
    order = "game_master_choice" if conversation.is_meeting else "fixed"
    game_master = prefab.InstanceConfig(
        prefab="dialogic__GameMaster",
        role=prefab.Role.GAME_MASTER,
        params={
            "name": "conversation rules",
            "next_game_master_name": "conversation rules",
            "acting_order": order,
        },
    )
    prefabs = {
        **helper_functions.get_package_classes(entity_prefabs),
        **helper_functions.get_package_classes(game_master_prefabs),
    }
    return prefab.Config(default_premise="", default_max_steps=0, prefabs=prefabs, instances=[*instances, game_master])


def parameters(person: Person, conversation: Conversation) -> dict[str, str]:
    """Return the parameters of an entity."""
    if conversation.options["entity"] == "minimal__Entity":
        return {
            "name": person.name,
            "goal": person.goal,
            "custom_instructions": f"Play {person.name}, and nobody else.",
        }
    return {"name": person.name, "goal": person.goal}


def utterance(step: dict[str, object]) -> tuple[str, str]:
    """Return speaker and text of a step of the log."""
    (entity,) = (key for key in step if key.startswith("Entity ["))
    event = str(step["Summary"]).partition("Event: ")[2].strip()
    return entity.removeprefix("Entity [").rstrip("]"), event


def embed(text: str) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """Return a vector drawn by the text."""
    seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())
    return np.random.default_rng(seed).standard_normal(64)


if __name__ == "__main__":
    hold(given())
