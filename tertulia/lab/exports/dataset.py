"""Runs as a data set for Hugging Face's `datasets`: a folder with a file of JSON lines per configuration, and its card.

`load_dataset(FOLDER, "turns")` reads it without a network; pandas, DuckDB and others read the files.

| configuration | a row |
|---|---|
| `conversations` | a run: its lines as chat messages, its figures, its parameters |
| `turns` | an utterance or a silence; in an album chat also plan and answer, which `part` tells apart |
| `units` | a unit of a turn's prompt: its score, and its place in the order of removal |
| `calls` | a call of a model |
| `prompts` | a prompt of a turn or a call, once, by its content hash |

The card declares the types of the columns, so that one in which nothing is known has its type too, and tells what they
mean. A configuration without a row is left out.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain

import yaml

from tertulia.lab.exports.columns import COLUMNS, table_of
from tertulia.lab.exports.folder_file import FolderFile
from tertulia.lab.exports.recorded import RecordedRun, prompt_messages
from tertulia.state.documents import Document
from tertulia.state.records import order_of
from tertulia.views.measuring.costs import calls_and_payers


def dataset_files(runs: Sequence[RecordedRun]) -> Iterator[FolderFile]:
    """Yield the files of a folder with these runs."""
    written: dict[str, int] = {}
    makers: Mapping[str, Callable[[RecordedRun], Iterator[Document]]] = {
        **{"conversations": _conversations, "turns": _turns, "units": _units, "calls": _calls, "prompts": _prompts},
    }
    for name, rows in makers.items():
        lines = _counted(name, (row for run in runs for row in rows(run)), written)
        if first := next(lines, None):
            yield FolderFile(f"{name}.jsonl", chain([first], lines))
    yield FolderFile("README.md", [_card(runs, written)])


def _counted(name: str, rows: Iterator[Document], written: dict[str, int]) -> Iterator[str]:
    """Yield rows as lines, and count them; those of prompts, which runs have in common, once each."""
    known: set[object] = set()
    for row in rows:
        if name != "prompts" or row["prompt"] not in known:
            known.add(row.get("prompt"))
            written[name] = written.get(name, 0) + 1
            yield json.dumps(row, ensure_ascii=False) + "\n"


def _card(runs: Sequence[RecordedRun], rows: Mapping[str, int]) -> str:
    """Return the data set's card: a head for `datasets`, and a text for people."""
    head = {
        "configs": [
            {"config_name": name, "data_files": f"{name}.jsonl", "default": name == "conversations"} for name in rows
        ],
        "dataset_info": [
            {
                "config_name": name,
                "features": _features({column: about.kind for column, about in COLUMNS[name].items()}),
            }
            for name in rows
        ],
    }
    scenarios = ", ".join(dict.fromkeys(run.run.scenario for run in runs))
    models = ", ".join(dict.fromkeys(run.run.model for run in runs))
    rehearsed = "\nA stand-in without weights spoke: the words mean nothing.\n" if _is_rehearsed(runs) else ""
    tables = "".join(f"\n## {name}\n\n{table_of(name)}" for name in rows)
    counts = "\n".join(f"| `{name}` | {count} |" for name, count in rows.items())
    return (
        f"---\n{yaml.safe_dump(head, sort_keys=False)}---\n# {len(runs)} conversations of Tertulia\n\n"
        f"Scenarios: {scenarios}. Models: {models}.\n{rehearsed}\n"
        f"| configuration | rows |\n|---|---|\n{counts}\n{tables}"
    )


def _is_rehearsed(runs: Sequence[RecordedRun]) -> bool:
    return any(run.run.rehearsed for run in runs)


def _features(columns: Mapping[str, str | Mapping[str, str]]) -> list[Document]:
    return [
        {"name": name, "dtype": kind} if isinstance(kind, str) else {"name": name, "list": _features(kind)}
        for name, kind in columns.items()
    ]


# --- rows -------------------------------------------------------------------------------------------------------------


def _conversations(run: RecordedRun) -> Iterator[Document]:
    record, parent = run.run, run.run.parent or (None, None)
    aloud = [line for line in run.lines() if line.is_aloud]
    personas = {name: run.start.participant(name).persona for name in run.start.names}
    factor = record.parameters.get("removal_factor")
    yield {
        **{"run": record.run, "scenario": record.scenario, "kind": record.kind, "model": record.model},
        **{"embedder": record.embedder, "seed": str(record.seed), "order": order_of(record), "status": record.status},
        **{"ended_by": record.ended_by, "error": record.error, "turns": record.turns},
        **{"created": run.created.isoformat(), "rehearsed": record.rehearsed, "removal_factor": factor},
        **{"label": record.label, "parent_run": parent[0], "parent_turn": parent[1]},
        "rewritten": record.rewritten,
        **run.place(),
        "cohort": record.trial.cohort if record.trial else None,
        "situation": run.situation(),
        "participants": [
            {"name": name, "persona": persona.model_dump_json(exclude_none=True)} for name, persona in personas.items()
        ],
        "messages": [
            {
                "role": "user" if line.speaker == aloud[0].speaker else "assistant",
                "name": line.speaker,
                "content": line.text,
            }
            for line in aloud
        ],
        "figures": [{"metric": metric, "value": value} for metric, value in run.figures.items()],
        "parameters": json.dumps(record.parameters, ensure_ascii=False),
    }


def _turns(run: RecordedRun) -> Iterator[Document]:
    for line in run.lines():
        details, record = line.details, line.details.record
        turn = record.turn.model_dump(mode="json")
        yield {
            **{"run": run.run.run, "turn": turn["turn"], "round": turn["round"], "part": line.part},
            **{"speaker": turn["speaker"], "text": turn["text"], "origin": line.origin},
            **{"sim_time_s": turn["sim_time_s"], "ended": turn["ended"], "prompt": record.prompt},
            **{"line_scored_by": record.line_scored_by, "scored_by": record.scored_by},
            **{"removal_factor": details.removal_factor},
            **{"removal_factor_reached": details.removal_factor_reached, "removed_units": len(details.removed)},
            **{"removed_items": details.removed_items, "rollbacks": record.rollbacks},
            **{"inconsistency": line.chosen.inconsistency if line.chosen else None, "judged_by": record.judged_by},
            "candidates": [
                candidate.model_dump(include={"attempt", "origin", "text", "inconsistency"})
                for candidate in details.candidates
            ],
            "inherited": run.inherits(line.turn),
        }


def _units(run: RecordedRun) -> Iterator[Document]:
    for line in run.lines():
        for position, (unit, score, removed) in enumerate(line.units()):
            yield {
                **{"run": run.run.run, "turn": line.turn, "part": line.part, "position": position, "unit": unit.id},
                **{"block": unit.block, "kind": unit.kind, "removable": unit.removable, "text": unit.text},
                **{"line_score": (line.details.record.line_scores or {}).get(unit.id)},
                **{"score": score, "removed": removed, "inherited": run.inherits(line.turn)},
            }


def _calls(run: RecordedRun) -> Iterator[Document]:
    for call, inherited in calls_and_payers(run.store, run.run):
        same = {"round", "agent", "node", "attempt", "kind", "model", "prompt"}
        yield {
            "run": run.run.run,
            **call.model_dump(include=same),
            "parameters": json.dumps(call.parameters, ensure_ascii=False),
            "reply": call.replies[0].text if call.replies else None,
            "replies": len(call.replies),
            "results": json.dumps(call.values),
            **{"prompt_tokens": call.prompt_tokens, "reply_tokens": call.reply_tokens, "seconds": call.seconds},
            "inherited": inherited,
        }


def _prompts(run: RecordedRun) -> Iterator[Document]:
    hashes = [line.details.record.prompt for line in run.lines()]
    hashes += [call.prompt for call in run.store.calls(run.run.run)]
    for content in dict.fromkeys(hashes):
        if content is not None:
            prompt = run.store.prompt(content)
            yield {"prompt": content, "speaker": prompt.speaker, "layout": prompt.layout} | {
                "messages": prompt_messages(prompt)
            }
