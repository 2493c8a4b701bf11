"""Former names of modules, which extensions and scripts may still import: each warns, and gives the module of today.

Before version 0.4 the rooms were packages of their own (`nodes.machinery.node`). A module of the user's that has such a
name is the user's.
"""

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

#: The rooms that were packages of their own.
ROOMS = ("state", "prompts", "models", "storage", "worlds", "nodes", "graphs", "metrics", "lab", "viewer", "cli")

#: By folder, the modules that lay in the folder above it (`former=today` where the name is another).
_MOVED = {
    "storage.sqlite": (
        "checkpoints database locks migrations objects opening private_copy released snapshot structure vectors"
    ),
    "storage.postgres": (
        "postgres=database server_checkpoints=checkpoints server_faults=faults server_schema=schema server_text=text"
    ),
    "storage.merging": (
        "carrying checkpoint_rows merging=stores run_comparison run_merging=runs run_rows town_merging=towns"
    ),
    "storage.parts": (
        "annotations cognition contents experiments journal memory_index pictures runs search simulations streams turns"
    ),
    "models.local": (
        "adapters attention attention_scores causal decoding decoding_state embedded embedder grammar hub "
        "kept_chunks kept_prompts packed_linear picture_finder platforms row_groups seeing_parts sight threads "
        "tokenizer"
    ),
    "models.served": (
        "answer_limits chat chat_client chat_errors chat_messages chat_names langchain_client remote_requests "
        "repair server_answers server_client server_likelihood servers"
    ),
    "nodes.meeting": (
        "address assess choices choose_mechanisms decide floor hearing latency orders past perceive prepare race "
        "ratings rounds run_mechanisms view willingness"
    ),
    "nodes.album": "album_prompts belongings draw_pairs exchange find_picture record_round",
    "nodes.town": "encounter reflect remember",
    "lab.experiments": (
        "calibration cohorts estimating experiment landing listing missing progress results running setpoint "
        "shards sweeping"
    ),
    "lab.pages": "page page_data page_files page_html page_markdown plots",
    "lab.reports": (
        "logged measured_by_models measured_trials measures paper_files papers provenance report report_document "
        "report_making report_names report_page report_plots report_summary report_tables revised_turns verdicts"
    ),
    "lab.annotations": "annotating behaviour_report inventory inventory_report speech_acts",
    "lab.albums": "album album_files album_plots",
    "reading": "comparing days documents exchanges listing pace removal replaying rounds timeline traces turns what_if",
    "measuring": "costs dialogues measurement participation pruned_turns",
    "wording": "album_phrases comparison_phrases phrases round_phrases transcript",
    "access": "engines installation model_names named_files trust",
    "driving": (
        "cohort conversation driver estimating events interrupting node_checks platforms session studio towns tracing"
    ),
    "planning": "entering forking meeting_check prompt_language seats starting",
    "catalog": "completing drawing node_catalog scenarios settings",
    "files": "exporting merging shard_files written_files",
    "python": (
        "api arguments cell_page declaring launching progress_bar store_handle stored_run stored_turn stores tables"
    ),
}

#: Modules of version 0.4.0 that have another name now, both below `tertulia`.
_RENAMED = {
    "nodes.node": "nodes.machinery.node",
    "nodes.begin": "nodes.utterance.begin",
    "nodes.end": "nodes.utterance.end",
    "nodes.generate": "nodes.utterance.generate",
    "nodes.judge": "nodes.utterance.judge",
    "nodes.prune": "nodes.utterance.prune",
    "nodes.retrieve": "nodes.utterance.retrieve",
    "nodes.rewrite": "nodes.utterance.rewrite",
    "nodes.rollback": "nodes.utterance.rollback",
    "nodes.vary": "nodes.utterance.vary",
    "nodes.seat": "nodes.conversation.seat",
    "nodes.turns": "nodes.conversation.turns",
    "nodes.limits": "nodes.shared.limits",
    "nodes.memory": "nodes.shared.memory",
    "nodes.pace": "nodes.shared.removal_factor",
    "nodes.steering": "nodes.shared.steering",
    "nodes.meeting.decide": "nodes.meeting.bid",
    "nodes.meeting.hearing": "nodes.shared.hearing",
    "nodes.meeting.floor": "nodes.meeting.contenders",
    "storage.sqlite.vectors": "storage.sqlite.kept_vectors",
    "metrics.comparison": "reading.differences",
    "metrics.dialogue_file": "measuring.dialogue_file",
    "metrics.dialogue_formats": "measuring.dialogue_formats",
    "reading.pace": "reading.factor_reason",
    "lab.albums.album": "lab.albums.album_comparison",
    "cli.experiments": "cli.lab.experiments",
    "cli.lab_setpoint": "cli.lab.setpoint",
    "cli.lab_stability": "cli.lab.stability",
    "cli.reports": "cli.lab.reports",
    "cli.trials": "cli.lab.trials",
}

#: Those that are two now, with both.
_DIVIDED = {"tertulia.measuring.measuring": ("tertulia.measuring.cases", "tertulia.measuring.scores")}

_BEFORE_040 = {
    f"{folder.rpartition('.')[0] or 'tertulia'}.{former}": f"{folder}.{today or former}"
    for folder, names in _MOVED.items()
    for former, _, today in (name.partition("=") for name in names.split())
}

_TODAY = {
    former: f"tertulia.{_RENAMED.get(today, today)}"
    for former, today in (
        *((former, today) for former, today in _RENAMED.items() if former.partition(".")[0] in ROOMS),
        *((f"tertulia.{former}", today) for former, today in _RENAMED.items()),
        *_BEFORE_040.items(),
    )
}


class FormerNames(MetaPathFinder):
    """Finds modules by their former names; it comes before the finders that would import their files once more."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how the module of a former name is had; `None` where the name is none, or somebody else's."""
        room, _, inner = fullname.partition(".")
        is_former = room in ROOMS and (sys.modules.get(room) is _now(room) if inner else _is_ours(room))
        if not is_former and not (room == "tertulia" and (fullname in _TODAY or fullname in _DIVIDED)):
            return None
        if not inner or fullname in _TODAY or fullname in _DIVIDED:
            today = " and ".join(map(repr, _DIVIDED.get(fullname, (_name_today(fullname),))))
            warnings.warn(
                f"{fullname!r} is {today} now; import that (the former name goes with version 0.5)",
                FutureWarning,
                stacklevel=2,
            )
        return ModuleSpec(fullname, _ModulesOfToday() if fullname in _DIVIDED else _ModuleOfToday())


class _ModuleOfToday(Loader):
    """Gives a module that has another name."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module, whose own specification is kept for `exec_module`."""
        module = _now(spec.name)
        self._own = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Execute nothing: the module has been imported under its own name."""
        module.__spec__ = self._own


class _ModulesOfToday(Loader):
    """Gives a module that has all names of the modules into which it has been divided."""

    def create_module(self, spec: ModuleSpec) -> None:
        """Return `None`: an empty module is made."""

    def exec_module(self, module: ModuleType) -> None:
        """Take over the names of the modules of today."""
        for name in _DIVIDED[module.__name__]:
            names = vars(import_module(name))
            vars(module).update({key: names[key] for key in names if not key.startswith("__")})


def _now(name: str) -> ModuleType:
    return import_module(_name_today(name))


def _name_today(name: str) -> str:
    return _TODAY.get(name, f"tertulia.{name}")


def _is_ours(room: str) -> bool:
    """Return whether nobody else has a module of that name: none is found, or the room's own folder in a checkout."""
    found = PathFinder.find_spec(room)
    if found is None:
        return True
    if found.origin is None:  # a folder without an `__init__.py`
        return not any(file for folder in found.submodule_search_locations or () for file in Path(folder).glob("*.py"))
    return Path(found.origin).samefile(str(_now(room).__file__))
