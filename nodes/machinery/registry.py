"""All nodes that can be chosen by name, and those that a run chooses.

A new shipped node is a file and a line here. A user's node comes from a file or a package
(`nodes.machinery.extensions`), or is handed over as a Python object.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from pydantic import ValidationError

from tertulia.nodes.machinery.guard import guarded
from tertulia.nodes.machinery.node import Node, NodeFunction
from tertulia.nodes.machinery.objects import extension_of_object
from tertulia.nodes.machinery.places import PLACES, GraphName
from tertulia.nodes.mechanisms.mechanism import Mechanism
from tertulia.nodes.mechanisms.registry import MECHANISMS
from tertulia.nodes.meeting.assess import assess
from tertulia.nodes.meeting.bid import decide
from tertulia.nodes.meeting.choose_mechanisms import choose_mechanisms
from tertulia.nodes.meeting.perceive import perceive
from tertulia.nodes.meeting.race import race
from tertulia.nodes.meeting.run_mechanisms import run_mechanisms
from tertulia.nodes.scorers.attention import score_attention
from tertulia.nodes.scorers.embedding_similarity import score_similarity
from tertulia.nodes.scorers.leave_one_out import score_by_leaving_out
from tertulia.nodes.scorers.length import score_length
from tertulia.nodes.scorers.random_draw import score_random
from tertulia.nodes.town.rate_importance import rate_importance
from tertulia.nodes.utterance.end import decide_ending
from tertulia.nodes.utterance.generate import generate
from tertulia.nodes.utterance.judge import judge
from tertulia.nodes.utterance.prune import prune
from tertulia.nodes.utterance.retrieve import retrieve_memory
from tertulia.nodes.utterance.rewrite import choose_revision, rewrite
from tertulia.nodes.utterance.rollback import roll_back, select_candidate
from tertulia.nodes.utterance.score_line import score_line
from tertulia.nodes.utterance.sense import sense
from tertulia.nodes.utterance.vary import vary_prompt
from tertulia.state.errors import ExtensionError, SettingError, UsageError, nearest_hint
from tertulia.state.parameters import NodeSetting, Order, Parameters
from tertulia.state.records import Extension, RunKind
from tertulia.state.wrong_values import value_problem


def _shipped(place: str, run: NodeFunction, reads: str, description: str, name: str = "") -> Node:
    """Return a shipped node: it writes all keys that its place may have, and without a name has the place's."""
    writes = (*PLACES[place].writes, *PLACES[place].may_write)
    return Node(name or place, place, description, run, tuple(reads.split()), writes)


#: The scorer if none is chosen.
DEFAULT_SCORER = "attention"

#: Every shipped node by name: its place, its function, the keys that it reads besides those given, and its purpose.
NODES: Mapping[str, Node] = {
    node.name: node
    for node in (
        _shipped("perceive", perceive, "", "lets the last message into working memory if it concerns the agent"),
        _shipped("choose_mechanisms", choose_mechanisms, "", "asks the agent which mechanisms it needs now"),
        _shipped("run_mechanisms", run_mechanisms, "active", "runs them side by side"),
        _shipped("assess", assess, "active", "asks how things stand, what the agent feels and thinks"),
        _shipped("decide", decide, "", "puts down the parts of willingness"),
        _shipped("race", race, "minds bids", "the willing draw a latency, and the fastest speaks"),
        _shipped(
            "retrieve_memory", retrieve_memory, "", "recalls what bears on the moment, and stores the full prompt"
        ),
        _shipped("vary_prompt", vary_prompt, "prompt", "leaves blocks out, sets their lengths, gives other names"),
        _shipped("score", score_attention, "prompt", "attention of responses to the full prompt", DEFAULT_SCORER),
        _shipped("score", score_similarity, "prompt", "cosine with the last lines", "embedding_similarity"),
        _shipped("score", score_by_leaving_out, "prompt", "how much a response owes to the unit", "leave_one_out"),
        _shipped("score", score_length, "prompt", "length in tokens", "length"),
        _shipped("score", score_random, "prompt", "a draw for each unit", "random"),
        _shipped("prune", prune, "prompt scores", "chooses the units that λ removes"),
        _shipped("generate", generate, "prompt removed", "draws the utterance, and its backups"),
        _shipped("sense", sense, "prompt removed attempt", "finds faults of the candidate, and draws it again"),
        _shipped(
            "judge", judge, "prompt removed attempt inconsistency", "asks how much it contradicts what was removed"
        ),
        _shipped(
            "choose_revision",
            choose_revision,
            "prompt removed attempt",
            "asks whether what was removed suffices to rewrite the candidate",
        ),
        _shipped("rewrite", rewrite, "prompt removed attempt set_aside", "rewrites the candidate by the comment"),
        _shipped("roll_back", roll_back, "prompt removed attempt set_aside", "takes the next backup"),
        _shipped(
            "select_candidate",
            select_candidate,
            "removed attempt set_aside inconsistency",
            "selects the candidate that is said",
        ),
        _shipped("score_line", score_line, "prompt removed chosen", "scores what the line leaned on"),
        _shipped("decide_ending", decide_ending, "chosen", "finds out whether that ends the conversation"),
        _shipped("rate_importance", rate_importance, "", "asks the model how much each new memory weighs"),
    )
}


_NAMES_OF_KINDS: Mapping[RunKind, str] = {
    "dialogue": "a dialogue of two",
    "group_chat": "a meeting",
    "album_chat": "an album chat",
}
#: By graph, the kinds of runs with its places, and their name; conversations of towns are dialogues.
_KINDS: Mapping[GraphName, tuple[tuple[RunKind, ...], str]] = {
    "utterance": (("dialogue", "group_chat", "album_chat"), "conversations"),
    "cognition": (("group_chat",), "meetings"),
    "group_chat": (("group_chat",), "meetings"),
    "town": (("dialogue",), "towns"),
}


@dataclass(frozen=True)
class Registry:
    """The nodes and mechanisms that a run can have, by name: all shipped ones, and those of its extensions.

    Attributes:
        origins: By name of each of those, the extension that it is from.
        extensions: The extensions, as they are recorded with a run.
    """

    own_nodes: Mapping[str, Node] = field(default_factory=dict)
    own_mechanisms: Mapping[str, Mechanism] = field(default_factory=dict)
    origins: Mapping[str, str] = field(default_factory=dict)
    extensions: tuple[Extension, ...] = ()

    @property
    def nodes(self) -> Mapping[str, Node]:
        """All nodes."""
        return {**NODES, **self.own_nodes}

    @property
    def mechanisms(self) -> Mapping[str, Mechanism]:
        """All mechanisms."""
        return {**MECHANISMS, **self.own_mechanisms}

    def including(self, extension: Extension, nodes: Iterable[Node], mechanisms: Iterable[Mechanism]) -> "Registry":
        """Return a registry with a further extension; `ExtensionError` if one of its names is taken."""
        new_nodes, new_mechanisms, origins = dict(self.own_nodes), dict(self.own_mechanisms), dict(self.origins)
        added: list[Node | Mechanism] = [*nodes, *mechanisms]
        for declared in added:
            name = declared.name
            if name in NODES or name in MECHANISMS or name in PLACES:
                raise ExtensionError(f"{extension.source}: {name!r} is the name of a shipped one; choose another")
            if name in origins:
                raise ExtensionError(f"{extension.source}: {name!r} is there already, from {origins[name]}")
            origins[name] = extension.source
            if isinstance(declared, Node):
                new_nodes[name] = declared
            else:
                new_mechanisms[name] = declared
        return Registry(new_nodes, new_mechanisms, origins, (*self.extensions, extension))

    def including_objects(self, nodes: Iterable[Node] = (), mechanisms: Iterable[Mechanism] = ()) -> "Registry":
        """Return a registry with Python objects, recorded with their source; `ExtensionError` as `including`."""
        registry = self
        for node in dict.fromkeys(nodes):
            registry = registry.including(extension_of_object(node), [node], ())
        for mechanism in dict.fromkeys(mechanisms):
            registry = registry.including(extension_of_object(mechanism), (), [mechanism])
        return registry

    def functions(self, parameters: Parameters, kind: RunKind) -> dict[str, NodeFunction]:
        """Return the nodes that a run chooses, by place, as its graphs run them; users' nodes are guarded.

        Args:
            parameters: Of the run: the nodes by place, and their settings.
            kind: That of the run: a dialogue has the places of the utterance graph alone.

        Raises:
            UsageError: There is no such place or node, or a parameter of one is not acceptable.
        """
        for problem in self._problems(parameters, kind):
            raise problem
        chosen = {place: self.nodes[name] for place, name in parameters.nodes.items()}
        return {place: guarded(node) if node.name in self.own_nodes else node.run for place, node in chosen.items()}

    def _problems(self, parameters: Parameters, kind: RunKind) -> Iterator[UsageError]:
        for key, name in parameters.nodes.items():
            if problem := self._problem_of_node(key, name, parameters.order, kind):
                yield SettingError(f"nodes.{key}", name, f": {problem}")
        declared: dict[str, Node | Mechanism] = {**self.nodes, **self.mechanisms}
        for name, settings in parameters.node_settings.items():
            if name not in declared:
                configurable = [item.name for item in declared.values() if item.parameters is not None]
                yield UsageError(
                    f"unknown parameter {next(iter(settings), '')!r} of {name!r}: there is no such node or mechanism"
                    + nearest_hint(name, configurable)
                )
            else:
                yield from map(UsageError, _bad_settings(declared[name], settings))

    def _problem_of_node(self, place: str, name: str, order: Order, kind: RunKind) -> str | None:
        if place not in PLACES:
            return f"there is no place {place!r}{nearest_hint(place, PLACES)}"
        kinds, name_of_kinds = _KINDS[PLACES[place].graph]
        if kind not in kinds:
            return f"{_NAMES_OF_KINDS[kind]} has no place {place!r}; it is one of {name_of_kinds}"
        if kind == "album_chat" and place == "retrieve_memory":
            return f"an album chat has no place {place!r}: what its prompts hold is in two queues"
        if (node := self.nodes.get(name)) is None:
            choices = [node.name for node in self.nodes.values() if node.place == place]
            hint = "; one of your own comes with extensions=['FILE']"
            return f"there is no node {name!r}{nearest_hint(name, choices)}{hint}"
        if node.place != place:
            return f"{name} stands in the place {node.place}"
        if place == "race" and order != "self_driven":
            return f"with order={order} there is no race; set order=self_driven"
        return None


def _bad_settings(declared: Node | Mechanism, settings: Mapping[str, NodeSetting | None]) -> Iterator[str]:
    known = () if declared.parameters is None else tuple(declared.parameters.model_fields)
    for key in settings:
        if key not in known:
            hint = nearest_hint(key, known) or f" ({declared.name} takes none)"
            yield f"unknown parameter {f'{declared.name}.{key}'!r}{hint}"
    if declared.parameters is not None:
        try:
            declared.parameters.model_validate(settings)
        except ValidationError as error:
            first = error.errors()[0]
            key = ".".join(str(part) for part in first["loc"])
            yield f"{declared.name}.{key}={first['input']}: {value_problem(first)}"
