"""Views for readers with other tools: a row per run, turn, agent and round, unit of a prompt, call of a model.

The turns that a fork has in common with its ancestors are among its own.
"""


def _from_json(record: str, **columns: str) -> str:
    """Return SQL for columns out of a JSON record, each named with its path."""
    return ", ".join(f"json_extract({record}.record, '$.{path}') AS {name}" for name, path in columns.items())


def _step(name: str, node: str) -> str:
    """Return SQL that joins what another step of the same agent in the same round came to."""
    return f"""LEFT JOIN steps AS {name} ON {name}.run = perceived.run AND {name}.round = perceived.round
        AND {name}.agent = perceived.agent AND {name}.node = '{node}'"""


_PERCEIVED = _from_json("perceived", relevance="relevance", noticed="noticed", importance="importance")
_THINKING = _from_json(
    "thinking", situation="situation", thought="thought", emotion="emotion", emotion_strength="emotion_strength"
)
_BID = _from_json(
    "bid",
    willingness="willingness",
    topic_part="parts.topic",
    goal_part="parts.goal",
    emotion_part="parts.emotion",
    personality_part="parts.personality",
    willing="willing",
    similarity="similarity",
    latency_scale_s="latency_scale_s",
    latency_spread_s="latency_spread_s",
    persistence="persistence",
    latency_s="latency_s",
    won="won",
)

#: Part of a migration: a change is a new one, that drops the old view first.
VIEWS: tuple[str, ...] = (
    """CREATE VIEW each_run AS SELECT run, status, kind, scenario, model, embedder, rehearsed, seed,
        json_extract(parameters, '$.removal_factor') AS removal_factor,
        CASE kind WHEN 'group_chat' THEN json_extract(parameters, '$.order') END AS speaking_order,
        coalesce((SELECT max(turn) FROM turns WHERE turns.run = runs.run), parent_turn - 1, 0) AS turns,
        parent_run, parent_turn, rewritten, error, created, parameters
        FROM runs ORDER BY id""",
    """CREATE VIEW each_turn AS SELECT lineage.run, turns.turn, turns.round, turns.speaker, contents.text,
        turns.sim_time_s, turns.ended,
        (SELECT count(*) FROM unit_scores AS unit
            WHERE unit.run = turns.run AND unit.turn = turns.turn AND removed) AS removed_units,
        turns.rollbacks, candidates.inconsistency, turns.scored_by, turns.judged_by, turns.prompt,
        lineage.depth > 0 AS inherited
        FROM lineage JOIN turns ON turns.run = lineage.ancestor AND turns.turn <= lineage.turns
        JOIN contents ON contents.id = turns.content_id
        LEFT JOIN candidates ON candidates.run = turns.run AND candidates.turn = turns.turn
            AND candidates.attempt = turns.chosen AND turns.speaker IS NOT NULL
        ORDER BY lineage.run, turns.turn""",
    f"""CREATE VIEW each_agent_round AS SELECT lineage.run, perceived.round, perceived.agent, {_PERCEIVED},
        {_from_json("need", key_information="key_information")},
        (SELECT json_group_array(key) FROM json_each(need.record, '$.mechanisms')
            WHERE json_extract(value, '$.active')) AS mechanisms,
        {_THINKING}, {_BID}, lineage.depth > 0 AS inherited
        FROM lineage JOIN steps AS perceived
            ON perceived.run = lineage.ancestor AND perceived.round <= lineage.rounds AND perceived.node = 'perceive'
        {_step("need", "choose_mechanisms")} {_step("thinking", "assess")} {_step("bid", "bid")}
        ORDER BY lineage.run, perceived.round, perceived.agent""",
    """CREATE VIEW each_unit AS SELECT lineage.run, turns.turn, place.key AS position, units.unit, units.block,
        units.kind, units.removable, contents.text, scored.score, coalesce(scored.removed, 0) AS removed,
        lineage.depth > 0 AS inherited
        FROM lineage JOIN turns ON turns.run = lineage.ancestor AND turns.turn <= lineage.turns
        JOIN prompts ON prompts.hash = turns.prompt, json_each(prompts.unit_ids) AS place
        JOIN units ON units.id = place.value JOIN contents ON contents.id = units.content_id
        LEFT JOIN unit_scores AS scored ON scored.run = turns.run AND scored.turn = turns.turn
            AND scored.unit = units.unit
        ORDER BY lineage.run, turns.turn, place.key""",
    """CREATE VIEW each_call AS SELECT lineage.run, calls.round, calls.agent, calls.node, calls.attempt, calls.kind,
        calls.model, calls.prompt, contents.text AS parameters, json_extract(calls.replies, '$[0].text') AS reply,
        json_array_length(calls.replies) AS replies, calls.results, calls.prompt_tokens, calls.reply_tokens,
        calls.seconds, lineage.depth > 0 AS inherited
        FROM lineage JOIN calls ON calls.run = lineage.ancestor AND calls.round <= lineage.rounds
        LEFT JOIN contents ON contents.id = calls.parameters_id
        WHERE NOT EXISTS (  -- where a fork has made a call anew, that of its parent is not among its own
            SELECT 1 FROM lineage AS nearer
            JOIN calls AS own ON own.run = nearer.ancestor AND own.round <= nearer.rounds
            WHERE nearer.run = lineage.run AND nearer.depth < lineage.depth
            AND (own.round, own.agent, own.node, own.attempt) = (calls.round, calls.agent, calls.node, calls.attempt))
        ORDER BY lineage.run, calls.id""",
)
