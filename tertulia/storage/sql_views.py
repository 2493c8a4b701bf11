"""Views for readers with other tools: a row per run, turn, part of one, agent and round, unit of a prompt, call.

The turns that a fork has in common with its ancestors are among its own. docs/data.md explains each column.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from tertulia.storage.dialects import SQLITE, Dialect, JsonKind
from tertulia.storage.schema import TABLES, Kind

#: SQL, or a function that makes it in the dialect of a database.
Sql = str | Callable[[Dialect], str]

#: A column of a view: a table's column as it is, `TABLE.COLUMN`; or name, kind, and SQL.
Field = str | tuple[str, Kind, Sql]

#: The number of a run's turns, those that a fork has in common with its parent among them.
TURNS_OF_RUN = "coalesce((SELECT max(turn) FROM turns WHERE turns.run = runs.run), parent_turn - 1, 0)"

_INHERITED: Field = ("inherited", "flag", "lineage.depth > 0")


@dataclass(frozen=True)
class View:
    """A view.

    Attributes:
        source: SQL that follows the columns: the tables, and the order of the rows.
        tables: The tables with checksums that it is made of.
        texts: The column whose texts have hashes, if there is one.
    """

    name: str
    fields: tuple[Field, ...]
    source: Sql
    tables: tuple[str, ...]
    texts: str | None = None

    @cached_property
    def kinds(self) -> dict[str, Kind]:
        """The kind of each column, in their order."""
        return dict(_kind(field) for field in self.fields)

    def query(self, dialect: Dialect) -> str:
        """Return the query of the view."""
        fields = (
            field if isinstance(field, str) else f"{_in(dialect, field[2])} AS {field[0]}" for field in self.fields
        )
        return f"SELECT {', '.join(fields)} {_in(dialect, self.source)}"


def _kind(field: Field) -> tuple[str, Kind]:
    if not isinstance(field, str):
        return field[:2]
    table, _, column = field.partition(".")
    return column, TABLES[table].kind(column)


def _in(dialect: Dialect, sql: Sql) -> str:
    return sql if isinstance(sql, str) else sql(dialect)


def _json_field(json: str, path: str, kind: JsonKind) -> Sql:
    return lambda dialect: dialect.json_field(json, path, kind)


def _from_json(record: str, kind: Literal["text", "number", "flag"], *paths: str) -> tuple[Field, ...]:
    """Return columns out of a JSON record, each named after the path; `parts.topic` becomes `topic_part`."""
    read_as: JsonKind = "truth" if kind == "flag" else kind
    return tuple(
        (
            f"{path.partition('.')[2]}_part" if "." in path else path,
            kind,
            _json_field(f"{record}.record", path, read_as),
        )
        for path in paths
    )


def _removed_units(table: str, part: str) -> Sql:
    of_part = f"unit.run = {table}.run AND unit.turn = {table}.turn AND unit.part = {part}"
    return lambda dialect: (
        f"""(SELECT count(*) FROM unit_scores AS unit
            WHERE {of_part} AND {dialect.holds("removed")})"""
    )


def _orders(dialect: Dialect) -> str:
    return f"CASE kind WHEN 'group_chat' THEN {dialect.json_field('parameters', 'order', 'text')} END"


def _source_of_units(dialect: Dialect) -> str:
    return f"""FROM lineage JOIN turns ON turns.run = lineage.ancestor AND turns.turn <= lineage.turns
        JOIN prompts ON prompts.hash = turns.prompt{dialect.joined_counts("prompts.unit_ids")}
        JOIN units ON units.id = place.value JOIN contents ON contents.id = units.content_id
        LEFT JOIN unit_scores ON unit_scores.run = turns.run AND unit_scores.turn = turns.turn
            AND unit_scores.part = '' AND unit_scores.unit = units.unit
        ORDER BY lineage.run, turns.turn, place.key"""


def _step(name: str, node: str) -> str:
    """Return SQL that joins the record of another step of the same agent in the same round."""
    return f"""LEFT JOIN steps AS {name} ON {name}.run = perceived.run AND {name}.round = perceived.round
        AND {name}.agent = perceived.agent AND {name}.node = '{node}'"""


_RUNS = View(
    "each_run",
    (
        *("runs.run", "runs.status", "runs.kind", "runs.scenario", "runs.model", "runs.embedder"),
        *("runs.rehearsed", "runs.seed"),
        ("removal_factor", "number", _json_field("parameters", "removal_factor", "number")),
        ("speaking_order", "text", _orders),
        ("turns", "count", TURNS_OF_RUN),
        *("runs.parent_run", "runs.parent_turn", "runs.rewritten", "runs.error", "runs.ended_by", "runs.created"),
        *("runs.parameters", "runs.label"),
        *("runs.experiment", "runs.setting", "runs.trial_case", "runs.trial", "runs.cohort"),
    ),
    "FROM runs ORDER BY id",
    tables=("runs", "turns"),
)

_TURNS = View(
    "each_turn",
    (
        *("lineage.run", "turns.turn", "turns.round", "turns.speaker", "contents.text", "turns.sim_time_s"),
        "turns.ended",
        ("removed_units", "count", _removed_units("turns", "''")),
        *("turns.rollbacks", "candidates.inconsistency", "turns.scored_by", "turns.judged_by", "turns.prompt"),
        *("turns.line_scores", "turns.line_scored_by"),
        _INHERITED,
    ),
    """FROM lineage JOIN turns ON turns.run = lineage.ancestor AND turns.turn <= lineage.turns
        JOIN contents ON contents.id = turns.content_id
        LEFT JOIN candidates ON candidates.run = turns.run AND candidates.turn = turns.turn AND candidates.part = ''
            AND candidates.attempt = turns.chosen AND turns.speaker IS NOT NULL
        ORDER BY lineage.run, turns.turn""",
    tables=("lineage", "turns", "unit_scores", "candidates"),
    texts="text",
)

_PARTS = View(
    "each_part",
    (
        *("lineage.run", "parts.turn", "parts.part", "parts.speaker", "contents.text"),
        ("removed_units", "count", _removed_units("parts", "parts.part")),
        *("parts.rollbacks", "candidates.inconsistency", "parts.scored_by", "parts.judged_by", "parts.prompt"),
        *("parts.line_scores", "parts.line_scored_by"),
        _INHERITED,
    ),
    """FROM lineage JOIN parts ON parts.run = lineage.ancestor AND parts.turn <= lineage.turns
        JOIN contents ON contents.id = parts.content_id
        LEFT JOIN candidates ON candidates.run = parts.run AND candidates.turn = parts.turn
            AND candidates.part = parts.part AND candidates.attempt = parts.chosen
        ORDER BY lineage.run, parts.turn, parts.part""",
    tables=("lineage", "parts", "unit_scores", "candidates"),
    texts="text",
)

_AGENT_ROUNDS = View(
    "each_agent_round",
    (
        *("lineage.run", ("round", "count", "perceived.round"), ("agent", "text", "perceived.agent")),
        *_from_json("perceived", "number", "relevance"),
        *_from_json("perceived", "flag", "noticed"),
        *_from_json("perceived", "number", "importance"),
        *_from_json("need", "text", "key_information"),
        ("mechanisms", "json", lambda dialect: dialect.true_keys("need.record", "mechanisms", "active")),
        *_from_json("thinking", "text", "situation", "thought", "emotion"),
        *_from_json("thinking", "number", "emotion_strength"),
        *_from_json("bid", "number", "willingness", "parts.topic", "parts.goal", "parts.emotion", "parts.personality"),
        *_from_json("bid", "flag", "willing"),
        *_from_json("bid", "number", "similarity", "latency_scale_s", "latency_spread_s", "persistence", "latency_s"),
        *_from_json("bid", "flag", "won"),
        _INHERITED,
    ),
    f"""FROM lineage JOIN steps AS perceived
            ON perceived.run = lineage.ancestor AND perceived.round <= lineage.rounds AND perceived.node = 'perceive'
        {_step("need", "choose_mechanisms")} {_step("thinking", "assess")} {_step("bid", "bid")}
        ORDER BY lineage.run, perceived.round, perceived.agent""",
    tables=("lineage", "steps"),
)

_UNITS = View(
    "each_unit",
    (
        *("lineage.run", "turns.turn", ("position", "count", "place.key"), "units.unit", "units.block", "units.kind"),
        *("units.removable", "contents.text", "unit_scores.score"),
        ("removed", "count", "coalesce(unit_scores.removed, 0)"),
        _INHERITED,
    ),
    _source_of_units,
    tables=("lineage", "turns", "unit_scores"),
    texts="text",
)

_CALLS = View(
    "each_call",
    (
        *("lineage.run", "calls.round", "calls.agent", "calls.node", "calls.attempt", "calls.kind", "calls.model"),
        *("calls.prompt", ("parameters", "json", "contents.text")),
        ("reply", "text", _json_field("calls.replies", "[0].text", "text")),
        ("replies", "count", lambda dialect: dialect.json_length("calls.replies")),
        *("calls.results", "calls.prompt_tokens", "calls.reply_tokens", "calls.seconds", _INHERITED),
    ),
    """FROM lineage JOIN calls ON calls.run = lineage.ancestor AND calls.round <= lineage.rounds
        LEFT JOIN contents ON contents.id = calls.parameters_id
        WHERE NOT EXISTS (  -- a call that a fork has made anew replaces that of its parent
            SELECT 1 FROM lineage AS nearer
            JOIN calls AS anew ON anew.run = nearer.ancestor AND anew.round <= nearer.rounds
            WHERE nearer.run = lineage.run AND nearer.depth < lineage.depth
            AND (anew.round, anew.agent, anew.node, anew.attempt)
                = (calls.round, calls.agent, calls.node, calls.attempt))
        ORDER BY lineage.run, calls.id""",
    tables=("lineage", "calls"),
    texts="parameters",
)

#: All views.
VIEWS: Mapping[str, View] = {view.name: view for view in (_RUNS, _TURNS, _PARTS, _AGENT_ROUNDS, _UNITS, _CALLS)}

#: The query of each in a store file.
QUERIES: dict[str, str] = {name: view.query(SQLITE) for name, view in VIEWS.items()}
