"""All nodes that can be chosen by name, and what a run chooses of them and of an extension's.

A new shipped node is a file and a line here; one of a user's own comes in by `nodes.machinery.extensions`.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from pydantic import ValidationError

from nodes.assess import assess
from nodes.choose_mechanisms import choose_mechanisms
from nodes.decide import decide
from nodes.end import decide_ending
from nodes.generate import generate
from nodes.judge import judge
from nodes.machinery.node import PLACES, Node, NodeFunction, guarded
from nodes.mechanisms.mechanism import Mechanism
from nodes.mechanisms.registry import MECHANISMS
from nodes.perceive import perceive
from nodes.prune import prune
from nodes.race import race
from nodes.retrieve import retrieve_memory
from nodes.rewrite import choose_revision, rewrite
from nodes.rollback import roll_back, select_candidate
from nodes.run_mechanisms import run_mechanisms
from nodes.scorers.attention import score_attention
from nodes.scorers.embedding_similarity import score_similarity
from nodes.scorers.leave_one_out import score_by_leaving_out
from nodes.scorers.length import score_length
from nodes.scorers.random_draw import score_random
from nodes.vary import vary_prompt
from state.errors import ExtensionError, UsageError, nearest_hint
from state.parameters import NodeSetting, Parameters
from state.records import Extension, RunKind


def _shipped(place: str, run: NodeFunction, reads: str, description: str, name: str = "") -> Node:
    """Return a shipped node, which writes what its place may have, and is called as that if by no other name."""
    writes = (*PLACES[place].writes, *PLACES[place].may_write)
    return Node(name or place, place, description, run, tuple(reads.split()), writes)


#: The scorer where none is chosen.
DEFAULT_SCORER = "attention"

#: Every shipped node by name: its place, its function, what it reads besides the moment, and what it does.
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
        _shipped("score", score_similarity, "prompt", "cosine with what was said last", "embedding_similarity"),
        _shipped("score", score_by_leaving_out, "prompt", "how much a response owes to the unit", "leave_one_out"),
        _shipped("score", score_length, "prompt", "length in tokens", "length"),
        _shipped("score", score_random, "prompt", "a draw for each unit", "random"),
        _shipped("prune", prune, "prompt scores", "chooses the units that λ removes"),
        _shipped("generate", generate, "prompt removed", "draws the utterance, and its backups"),
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
            "settles on the candidate that is said",
        ),
        _shipped("decide_ending", decide_ending, "chosen", "finds out whether that ends the conversation"),
    )
}


@dataclass(frozen=True)
class Registry:
    """The nodes and mechanisms that a run can have, by name: all that are shipped, and those of its extensions.

    Attributes:
        own_nodes, own_mechanisms: Those of extensions.
        origins: For each of those, the extension that it is from.
        extensions: The extensions, as they are noted with a run.
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
        """Return a registry that has those of one more extension.

        Raises:
            ExtensionError: A name is there already.
        """
        new_nodes, new_mechanisms, origins = dict(self.own_nodes), dict(self.own_mechanisms), dict(self.origins)
        new: list[Node | Mechanism] = [*nodes, *mechanisms]
        for one in new:
            if one.name in NODES or one.name in MECHANISMS or one.name in PLACES:
                raise ExtensionError(f"{extension.source}: {one.name!r} is the name of a shipped one; choose another")
            if one.name in origins:
                raise ExtensionError(f"{extension.source}: {one.name!r} is there already, from {origins[one.name]}")
            origins[one.name] = extension.source
            if isinstance(one, Node):
                new_nodes[one.name] = one
            else:
                new_mechanisms[one.name] = one
        return Registry(new_nodes, new_mechanisms, origins, (*self.extensions, extension))

    def functions(self, parameters: Parameters, kind: RunKind) -> dict[str, NodeFunction]:
        """Return the nodes that a run chooses, by place, as its graphs run them; those of the user's own guarded.

        Args:
            parameters: Of the run: the nodes by place, and their settings.
            kind: What the run is: a dialogue has the places of the utterance graph alone.

        Raises:
            UsageError: There is no such place or node, or a parameter of one is not acceptable.
        """
        for problem in self._problems(parameters, kind):
            raise UsageError(problem)
        chosen = {place: self.nodes[name] for place, name in parameters.nodes.items()}
        return {place: guarded(node) if node.name in self.own_nodes else node.run for place, node in chosen.items()}

    def _problems(self, parameters: Parameters, kind: RunKind) -> Iterator[str]:
        for place, name in parameters.nodes.items():
            at = f"nodes.{place}={name}"
            if place not in PLACES:
                yield f"{at}: there is no place {place!r}{nearest_hint(place, PLACES)}"
            elif kind == "dialogue" and PLACES[place].graph != "utterance":
                yield f"{at}: a dialogue of two has no place {place!r}; it is one of meetings"
            elif name not in self.nodes:
                here = [node.name for node in self.nodes.values() if node.place == place]
                own = "; one of your own comes with --extension FILE"
                yield f"{at}: there is no node {name!r}{nearest_hint(name, here)}{own}"
            elif self.nodes[name].place != place:
                yield f"{at}: {name} stands in the place {self.nodes[name].place}"
            elif place == "race" and parameters.order != "self_driven":
                yield f"{at}: with order={parameters.order} there is no race; set order=self_driven"
        declared: dict[str, Node | Mechanism] = {**self.nodes, **self.mechanisms}
        for name, settings in parameters.node_settings.items():
            if name not in declared:
                yield (
                    f"unknown parameter {next(iter(settings), '')!r} of {name!r}: there is no such node or mechanism"
                    + (nearest_hint(name, [one.name for one in declared.values() if one.parameters is not None]))
                )
            else:
                yield from _bad_settings(declared[name], settings)


def _bad_settings(declared: Node | Mechanism, settings: Mapping[str, NodeSetting | None]) -> Iterator[str]:
    known = () if declared.parameters is None else tuple(declared.parameters.model_fields)
    for key in settings:
        if key not in known:
            has = nearest_hint(key, known) or f" ({declared.name} takes none)"
            yield f"unknown parameter {f'{declared.name}.{key}'!r}{has}"
    if declared.parameters is not None:
        try:
            declared.parameters.model_validate(settings)
        except ValidationError as error:
            first = error.errors()[0]
            key = ".".join(str(part) for part in first["loc"])
            yield f"{declared.name}.{key}={first['input']}: {first['msg']}"
