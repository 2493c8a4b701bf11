"""Nodes, mechanisms and extensions of the user's own that a run has beside those of its scenario."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

from tertulia.runs.access.trust import KnownTrust, Trust, Trusted
from tertulia.state.errors import UsageError
from tertulia.state.meeting import Meeting, Start
from tertulia.state.records import Extension, RunRecord
from tertulia.state.wrong_arguments import refusal, with_named_fields

if TYPE_CHECKING:
    from tertulia.nodes.machinery.node import Node
    from tertulia.nodes.machinery.registry import Registry
    from tertulia.nodes.mechanisms.mechanism import Mechanism
    from tertulia.worlds.scenario_object import ScenarioObject


def _report_nothing(text: str) -> None:
    pass


@with_named_fields
@dataclass(frozen=True)
class Additions:
    """Nodes and mechanisms of the user's own that a run has beside those of its scenario.

    ::

        tertulia.run("tidewell", additions=tertulia.Additions(nodes={"score": "length"}))

    Attributes:
        nodes: By place, a node (see `scorer` and `node`), or the name of one that is shipped or in an extension.
        mechanisms: Mechanisms (see `mechanism`); in a meeting everybody may switch them on.
        extensions: Files (.py), relative to the current folder, and entry points of installed packages.
        accept_changed: Whether the source of a node or a mechanism may differ from the record of a run that goes on.
        trust: Other extensions that may be executed if a scenario or a store names them; remembers those named here.
        report: Receives a line for each link that was passed over in the folders of a scenario.

    Raises:
        SettingError: A node, a mechanism or an extension is of a wrong type.
    """

    nodes: Mapping[str, "Node | str"] = field(default_factory=dict)
    mechanisms: Sequence["Mechanism"] = ()
    extensions: Sequence[Path | str] = ()
    accept_changed: bool = False
    trust: Trust = field(default_factory=Trust, repr=False, kw_only=True)
    report: Callable[[str], None] = field(default=_report_nothing, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        _check_nodes(self.nodes)
        if self.mechanisms:
            from tertulia.nodes.mechanisms.mechanism import Mechanism

            remedy = "; @tertulia.mechanism makes one of a function"
            _check_sequence("mechanisms", self.mechanisms, Mechanism, "a mechanism", remedy)
        _check_sequence("extensions", self.extensions, (str, PathLike), "a file or an entry point")

    @property
    def node_objects(self) -> "list[Node]":
        """The nodes that are Python objects."""
        return [node for node in self.nodes.values() if not isinstance(node, str)]

    @property
    def settings(self) -> dict[str, str]:
        """The parameters that choose the nodes."""
        return {f"nodes.{place}": node if isinstance(node, str) else node.name for place, node in self.nodes.items()}

    def including(self, scenario: "str | ScenarioObject") -> "Additions":
        """Return a copy with the extensions of a scenario that the user's program has made: the user names them."""
        if isinstance(scenario, str) or not scenario.is_users:
            return self
        return replace(self, extensions=[*self.extensions, *scenario.extensions()])

    @property
    def sources(self) -> list[str]:
        """The files and entry points, as they are recorded with a run."""
        from tertulia.worlds.scenario_parts import extension_source

        return [extension_source(fspath(file), Path.cwd()) for file in self.extensions]

    def handed_over(self) -> "Additions":
        """Return a copy of plain data for another process, which asks nobody.

        Raises:
            UsageError: Some are Python objects, which only this process has.
        """
        if self.node_objects or self.mechanisms:
            raise UsageError(
                "nodes and mechanisms that are Python objects can't be sent to other processes; name the file that "
                "declares them (extensions), or run the experiment in this process"
            )
        return replace(self, extensions=self.sources, trust=KnownTrust(self.trust.read()), report=_report_nothing)

    def registry(self, beside: Sequence[str] = ()) -> "Registry":
        """Return the nodes and mechanisms of a new run; `beside` are the extensions that its scenario names.

        Raises:
            TertuliaError: An extension is missing, not trusted, can't be loaded, or is declared wrongly.
        """
        from tertulia.nodes.machinery.extensions import load_extensions

        registry = load_extensions(self.sources, beside, self.trust.read().extensions if beside else {})
        self._remember(registry)
        return registry.including_objects(self.node_objects, self.mechanisms)

    def switched_on(self, start: Start, known: tuple[str, ...]) -> Start:
        """Return a start in which, if it is a meeting, everybody may switch on the given mechanism objects."""
        from tertulia.worlds.changes import with_mechanisms

        if not self.mechanisms or not isinstance(start, Meeting):
            return start
        added = (mechanism.name for mechanism in self.mechanisms)
        return with_mechanisms(start, list(dict.fromkeys([*start.mechanisms, *added])), known)

    def registry_of(self, extensions: Sequence[Extension]) -> "Registry":
        """Return the nodes and mechanisms of recorded extensions, which must be named here or trusted.

        Raises:
            TertuliaError: An extension is gone, not trusted, or has changed.
        """
        from tertulia.nodes.machinery.extensions import reload_extensions

        trusted = self.trust.read().extensions if extensions else {}
        objects = self.node_objects, self.mechanisms
        return reload_extensions(extensions, self.sources, trusted, *objects, self.accept_changed)

    def reload_registry(self, run: RunRecord, replaced: Collection[str] = ()) -> "Registry":
        """Return the nodes and mechanisms of a stored run (see `registry_of`).

        Args:
            replaced: Names of nodes that it no longer has; Python objects among them are not needed.
        """
        from tertulia.nodes.machinery.objects import PREFIX

        unneeded = {f"{PREFIX}{name}" for name in replaced}
        registry = self.registry_of([extension for extension in run.extensions if extension.source not in unneeded])
        self._remember(registry)
        return registry

    def _remember(self, registry: "Registry") -> None:
        named = set(self.sources)
        loaded = (extension for extension in registry.extensions if extension.source in named)
        self.trust.remember(Trusted(extensions={extension.hash: extension.source for extension in loaded}))


def _check_nodes(nodes: object) -> None:
    by_place = "nodes are given by place: nodes={'score': …}"
    if not isinstance(nodes, Mapping):
        raise refusal("nodes", nodes, by_place)
    for place, node in nodes.items():
        from tertulia.nodes.machinery.node import Node

        if not isinstance(place, str):
            raise refusal("nodes", nodes, by_place)
        if not isinstance(node, Node | str):
            made = "a node is expected, or the name of one; @tertulia.scorer or @tertulia.node makes one of a function"
            raise refusal(f"nodes.{place}", node, made)


def _check_sequence(name: str, values: object, kind: type | tuple[type, ...], item: str, remedy: str = "") -> None:
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise refusal(name, values, f"a list is expected: {name}=[…]{remedy}")
    for value in values:
        if not isinstance(value, kind):
            raise refusal(name, value, f"{item} is expected{remedy}")


NOTHING_ADDED = Additions()


def additions_of(additions: Additions | None) -> Additions:
    """Return additions, or none; `SettingError` for anything else."""
    if additions is not None and not isinstance(additions, Additions):
        expected = "additions are a tertulia.Additions: additions=tertulia.Additions(nodes={'score': …})"
        raise refusal("additions", additions, expected)
    return additions or NOTHING_ADDED
