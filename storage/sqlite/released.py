"""The SQL of versions 1 to 8 of the schema, as it was released. It is never changed; `migrations` runs it."""

_VERSION_1 = (
    """CREATE TABLE contents (
        id INTEGER PRIMARY KEY,
        hash TEXT NOT NULL UNIQUE,  -- blake2b of the text, 16 bytes, hexadecimal
        text TEXT NOT NULL)""",
    """CREATE TABLE units (
        id INTEGER PRIMARY KEY,
        unit TEXT NOT NULL,  -- its id within a prompt
        block TEXT NOT NULL,
        kind TEXT NOT NULL,
        removable INTEGER NOT NULL,
        speaker TEXT,
        content_id INTEGER NOT NULL REFERENCES contents (id))""",
    "CREATE INDEX units_by_name ON units (unit, content_id)",
    """CREATE TABLE prompts (
        hash TEXT PRIMARY KEY,
        speaker TEXT NOT NULL,
        layout TEXT NOT NULL,
        unit_ids TEXT NOT NULL)  -- JSON list of units.id in prompt order""",
    """CREATE TABLE runs (
        id INTEGER PRIMARY KEY,  -- in the order in which they were begun
        run TEXT NOT NULL UNIQUE,
        status TEXT NOT NULL,
        scenario TEXT NOT NULL,
        model TEXT NOT NULL,
        embedder TEXT NOT NULL,
        rehearsed INTEGER NOT NULL,
        seed TEXT NOT NULL,  -- text: a seed may have more than 64 bits
        parameters TEXT NOT NULL,  -- JSON
        parent_run TEXT,
        parent_turn INTEGER,
        error TEXT,
        created TEXT NOT NULL,
        case_id INTEGER NOT NULL REFERENCES contents (id))""",
    """CREATE TABLE turns (
        run TEXT NOT NULL REFERENCES runs (run),
        turn INTEGER NOT NULL,
        round INTEGER NOT NULL,
        speaker TEXT,
        content_id INTEGER NOT NULL REFERENCES contents (id),
        sim_time_s REAL NOT NULL,
        ended INTEGER NOT NULL,
        prompt TEXT REFERENCES prompts (hash),
        scored INTEGER NOT NULL,
        chosen INTEGER NOT NULL,
        rollbacks INTEGER NOT NULL,
        scored_by TEXT,
        judged_by TEXT,
        PRIMARY KEY (run, turn)) WITHOUT ROWID""",
    """CREATE TABLE unit_scores (
        run TEXT NOT NULL,
        turn INTEGER NOT NULL,
        position INTEGER NOT NULL,  -- in prompt order, from 0
        unit TEXT NOT NULL,
        score REAL,
        removed INTEGER NOT NULL,  -- its place in the order of removal, from 1; 0: it stayed
        PRIMARY KEY (run, turn, position)) WITHOUT ROWID""",
    """CREATE TABLE candidates (
        run TEXT NOT NULL,
        turn INTEGER NOT NULL,
        attempt INTEGER NOT NULL,
        content_id INTEGER NOT NULL REFERENCES contents (id),
        reply TEXT NOT NULL,  -- JSON: text, tokens, text_tokens, fields
        inconsistency REAL,
        inconsistency_runs TEXT NOT NULL,  -- JSON list
        comment TEXT,
        PRIMARY KEY (run, turn, attempt))""",
)

_VERSION_2 = (
    # JSON: by participant, a model of their own and the parameters as they suit it
    "ALTER TABLE runs ADD COLUMN voices TEXT NOT NULL DEFAULT '{}'",
    """CREATE TABLE steps (
        run TEXT NOT NULL,
        round INTEGER NOT NULL,  -- 0: before the first
        agent TEXT NOT NULL,  -- empty: the whole group's
        node TEXT NOT NULL,
        record TEXT NOT NULL,  -- JSON
        PRIMARY KEY (run, round, agent, node)) WITHOUT ROWID""",
    """CREATE TABLE calls (
        id INTEGER PRIMARY KEY,  -- in the order in which they were stored
        run TEXT NOT NULL,
        round INTEGER NOT NULL,
        agent TEXT NOT NULL,
        node TEXT NOT NULL,
        attempt INTEGER NOT NULL,
        model TEXT NOT NULL,
        prompt TEXT NOT NULL REFERENCES prompts (hash),
        replies TEXT NOT NULL,  -- JSON: text, text_tokens, fields where the text does not hold them
        tokens TEXT NOT NULL,  -- JSON list of each reply's tokens: zlib, base 85
        UNIQUE (run, round, agent, node, attempt))""",
)

_VERSION_3 = (
    # Every row gets a checksum (storage/tables.py); `row_checksum` and `searchable` are Python's.
    "ALTER TABLE runs ADD COLUMN kind TEXT NOT NULL DEFAULT 'dialogue'",
    """UPDATE runs SET kind = 'group_chat' WHERE (SELECT json_type(searchable(text), '$.participants')
        FROM contents WHERE contents.id = case_id) IS NOT NULL""",
    "ALTER TABLE runs ADD COLUMN extensions TEXT NOT NULL DEFAULT '[]'",  # JSON: files and packages with own nodes
    "ALTER TABLE runs ADD COLUMN rewritten INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE runs ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0",
    """UPDATE runs SET checksum = row_checksum(run, status, kind, scenario, model, embedder, rehearsed, seed,
        parameters, voices, extensions, parent_run, parent_turn, rewritten, error, created, case_id)""",
    # A run has in common with each of its ancestors what those had until the fork. Every reader joins this table.
    """CREATE TABLE lineage (
        run TEXT NOT NULL,
        ancestor TEXT NOT NULL,  -- the run itself among them
        depth INTEGER NOT NULL,  -- 0: itself, 1: its parent, ...
        turns INTEGER NOT NULL,  -- up to this turn
        rounds INTEGER NOT NULL,  -- up to this round of thoughts, calls and traces
        checksum INTEGER NOT NULL,
        PRIMARY KEY (run, ancestor)) WITHOUT ROWID""",
    """INSERT INTO lineage SELECT run, run, 0, 4611686018427387904, 4611686018427387904,
        row_checksum(run, run, 0, 4611686018427387904, 4611686018427387904) FROM runs""",
    "ALTER TABLE turns ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0",
    """UPDATE turns SET checksum = row_checksum(run, turn, round, speaker, content_id, sim_time_s, ended, prompt,
        scored, chosen, rollbacks, scored_by, judged_by)""",
    "ALTER TABLE unit_scores ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0",
    "UPDATE unit_scores SET checksum = row_checksum(run, turn, position, unit, score, removed)",
    "ALTER TABLE candidates ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0",
    """UPDATE candidates SET checksum = row_checksum(run, turn, attempt, content_id, reply, inconsistency,
        inconsistency_runs, comment)""",
    "ALTER TABLE steps ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0",
    "UPDATE steps SET checksum = row_checksum(run, round, agent, node, record)",
    "ALTER TABLE calls ADD COLUMN kind TEXT NOT NULL DEFAULT 'generate'",
    "ALTER TABLE calls ADD COLUMN parameters_id INTEGER REFERENCES contents (id)",  # JSON: what else was asked for
    "ALTER TABLE calls ADD COLUMN results TEXT NOT NULL DEFAULT '[]'",  # JSON: what was computed, not written
    "ALTER TABLE calls ADD COLUMN prompt_tokens INTEGER",
    "ALTER TABLE calls ADD COLUMN reply_tokens INTEGER",
    "ALTER TABLE calls ADD COLUMN seconds REAL",  # its share of its batch
    "ALTER TABLE calls ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0",
    """UPDATE calls SET checksum = row_checksum(run, round, agent, node, attempt, kind, model, prompt,
        parameters_id, replies, tokens, results, prompt_tokens, reply_tokens, seconds)""",
    """CREATE TABLE traces (
        run TEXT NOT NULL,
        turn INTEGER NOT NULL,
        trace TEXT NOT NULL,  -- JSON of every execution of a node, its state before and its update: zlib, base 85
        stored TEXT NOT NULL,  -- JSON: how many rows of each table belong to the turn
        checksum INTEGER NOT NULL,
        PRIMARY KEY (run, turn))""",
    # What `tertulia search` looks through. A memory belongs to what a run starts from, the others to a run.
    """CREATE TABLE passages (
        id INTEGER PRIMARY KEY,
        start_id INTEGER REFERENCES contents (id),
        run TEXT,
        turn INTEGER NOT NULL,
        agent TEXT NOT NULL,
        kind TEXT NOT NULL,  -- utterance, thought, memory
        text TEXT NOT NULL,
        checksum INTEGER NOT NULL,
        UNIQUE (run, turn, agent, kind))""",
    "CREATE INDEX passages_by_start ON passages (start_id)",
    """INSERT INTO passages (run, turn, agent, kind, text, checksum)
        SELECT run, turn, speaker, 'utterance', searchable(text), 0 FROM turns
        JOIN contents ON contents.id = content_id WHERE speaker IS NOT NULL""",
    """INSERT INTO passages (run, turn, agent, kind, text, checksum)
        SELECT run, round, agent, 'thought', searchable(json_extract(searchable(record), '$.thought')), 0 FROM steps
        WHERE node = 'assess'""",
    """INSERT INTO passages (start_id, turn, agent, kind, text, checksum)
        SELECT DISTINCT start.id, 0, json_extract(person.value, '$.persona.name'), 'memory',
            searchable(json_extract(memory.value, '$.text')), 0
        FROM (SELECT id, searchable(text) AS text FROM contents WHERE id IN (SELECT case_id FROM runs))
            AS start CROSS JOIN
            json_each(coalesce(json_extract(start.text, '$.participants'), json_array(
                json_extract(start.text, '$.initiator'), json_extract(start.text, '$.partner')))) AS person
            CROSS JOIN json_each(person.value, '$.memories') AS memory""",
    "UPDATE passages SET checksum = row_checksum(start_id, run, turn, agent, kind, text)",
)

_VERSION_4 = (
    # What models were asked about a stored conversation (lab/); no part of the run.
    """CREATE TABLE readings (
        run TEXT NOT NULL,
        instrument TEXT NOT NULL,  -- inventory, speech_acts
        model TEXT NOT NULL,
        agent TEXT NOT NULL,  -- whom it is about; empty: nobody in particular
        first INTEGER NOT NULL,  -- the turns that were read
        last INTEGER NOT NULL,
        part INTEGER NOT NULL,
        prompt TEXT NOT NULL REFERENCES prompts (hash),
        answers TEXT NOT NULL,  -- JSON: by question
        prompt_tokens INTEGER NOT NULL,
        reply_tokens INTEGER NOT NULL,
        seconds REAL NOT NULL,
        checksum INTEGER NOT NULL,
        PRIMARY KEY (run, instrument, model, agent, first, part)) WITHOUT ROWID""",
)

_VERSION_5 = (
    # Days of a town. Each conversation is a run of its own; a simulation names them in order.
    """CREATE TABLE simulations (
        id INTEGER PRIMARY KEY,  -- in the order in which they were begun
        simulation TEXT NOT NULL UNIQUE,
        status TEXT NOT NULL,
        town TEXT NOT NULL,  -- its name
        model TEXT NOT NULL,
        embedder TEXT NOT NULL,
        rehearsed INTEGER NOT NULL,
        seed TEXT NOT NULL,
        days INTEGER NOT NULL,
        encounters_per_day INTEGER,  -- NULL: those of the log
        parameters TEXT NOT NULL,  -- JSON
        error TEXT,
        created TEXT NOT NULL,
        town_id INTEGER NOT NULL REFERENCES contents (id),  -- JSON: people, habits, what was said before
        checksum INTEGER NOT NULL)""",
    """CREATE TABLE encounters (
        simulation TEXT NOT NULL,
        day INTEGER NOT NULL,
        number INTEGER NOT NULL,
        time TEXT NOT NULL,
        place TEXT,
        initiator TEXT NOT NULL,
        partner TEXT NOT NULL,
        activities TEXT NOT NULL,  -- JSON: of the two
        run TEXT NOT NULL,
        checksum INTEGER NOT NULL,
        PRIMARY KEY (simulation, day, number)) WITHOUT ROWID""",
    """CREATE TABLE memories (
        id INTEGER PRIMARY KEY,
        simulation TEXT NOT NULL,
        agent TEXT NOT NULL,
        number INTEGER NOT NULL,  -- in the agent's stream, from 1
        memory TEXT NOT NULL,  -- its id
        kind TEXT NOT NULL,
        content_id INTEGER NOT NULL REFERENCES contents (id),
        created TEXT NOT NULL,
        importance REAL NOT NULL,
        evidence TEXT NOT NULL,  -- JSON list of ids
        vector TEXT NOT NULL,  -- its embedding: half precision, little-endian, base 64; empty: never recalled
        checksum INTEGER NOT NULL,
        UNIQUE (simulation, agent, number))""",
)

#: A name; what else version 6 changed is Python's.
_VERSION_6 = ("ALTER TABLE readings RENAME TO annotations",)

#: Pictures, and the further utterances of a turn. A table whose key changes is renamed;
#: storage/sqlite/migrations.py fills the new one from it, and drops it.
_VERSION_7 = (
    """CREATE TABLE pictures (
        hash TEXT PRIMARY KEY,  -- blake2b of the file's bytes, 16 bytes, hexadecimal
        image BLOB NOT NULL)""",
    "ALTER TABLE units ADD COLUMN picture TEXT REFERENCES pictures (hash)",
    """CREATE TABLE parts (
        run TEXT NOT NULL,
        turn INTEGER NOT NULL,
        part TEXT NOT NULL,
        speaker TEXT NOT NULL,
        content_id INTEGER NOT NULL REFERENCES contents (id),
        prompt TEXT REFERENCES prompts (hash),
        scored INTEGER NOT NULL,
        chosen INTEGER NOT NULL,
        rollbacks INTEGER NOT NULL,
        scored_by TEXT,
        judged_by TEXT,
        checksum INTEGER NOT NULL,
        PRIMARY KEY (run, turn, part)) WITHOUT ROWID""",
    "ALTER TABLE unit_scores RENAME TO former_unit_scores",
    """CREATE TABLE unit_scores (
        run TEXT NOT NULL,
        turn INTEGER NOT NULL,
        part TEXT NOT NULL,  -- empty: the turn's own utterance
        position INTEGER NOT NULL,  -- in prompt order, from 0
        unit TEXT NOT NULL,
        score REAL,
        removed INTEGER NOT NULL,  -- its place in the order of removal, from 1; 0: it stayed
        checksum INTEGER NOT NULL,
        PRIMARY KEY (run, turn, part, position)) WITHOUT ROWID""",
    "ALTER TABLE candidates RENAME TO former_candidates",
    """CREATE TABLE candidates (
        run TEXT NOT NULL,
        turn INTEGER NOT NULL,
        part TEXT NOT NULL,
        attempt INTEGER NOT NULL,
        content_id INTEGER NOT NULL REFERENCES contents (id),
        reply TEXT NOT NULL,  -- JSON: text, tokens, text_tokens, fields, origin, rewritable
        inconsistency REAL,
        inconsistency_runs TEXT NOT NULL,  -- JSON list
        comment TEXT,
        checksum INTEGER NOT NULL,
        PRIMARY KEY (run, turn, part, attempt))""",
)

_VERSION_8 = (
    *(f"ALTER TABLE runs ADD COLUMN {name} TEXT" for name in ("experiment", "setting", "trial_case")),
    *(f"ALTER TABLE runs ADD COLUMN {name} INTEGER" for name in ("trial", "cohort")),
    "CREATE INDEX runs_by_experiment ON runs (experiment)",
    *(f"ALTER TABLE {table} ADD COLUMN removal_factor REAL" for table in ("turns", "parts")),
    """CREATE TABLE experiments (
        experiment TEXT PRIMARY KEY,
        definition TEXT NOT NULL,  -- JSON
        created TEXT NOT NULL,
        checksum INTEGER NOT NULL) WITHOUT ROWID""",
    """CREATE TABLE calibrations (
        calibration TEXT PRIMARY KEY,  -- digest of model, scenario, parameters and metric
        metric TEXT NOT NULL,
        curve TEXT NOT NULL,  -- JSON
        created TEXT NOT NULL,
        checksum INTEGER NOT NULL) WITHOUT ROWID""",
)

_VERSION_9 = ("CREATE INDEX encounters_by_pair ON encounters (simulation, initiator, partner, day, number)",)

#: The statements of each version.
VERSIONS = (_VERSION_1, _VERSION_2, _VERSION_3, _VERSION_4, _VERSION_5, _VERSION_6, _VERSION_7, _VERSION_8, _VERSION_9)
