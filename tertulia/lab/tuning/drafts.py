"""Drafts for a course that teaches to prefer written lines: the model's own, in place of each line that is spoken."""

import json
from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from tertulia.models.tuning.preferences import with_drafts
from tertulia.models.tuning.sequence import TrainingSequence
from tertulia.models.tuning.trainer import Sequences, Trainer
from tertulia.state.language_model import Activity, Report
from tertulia.state.written_files import write_lines

#: The kinds of lessons in which people speak; answers in other calls are only learned.
_SPOKEN = ("dialogue", "meeting")


def drafted(trainer: Trainer, sequences: Sequences, file: Path, key: Mapping[str, Any], report: Report) -> Sequences:
    """Return the sequences by step, with drafts of the model as it is before the first of them.

    They are kept in a file, a line each, so that a killed training draws none twice. Its first line is the key of the
    training; the file of another one is begun anew.
    """
    steps, seed = trainer.options.steps, trainer.options.seed
    heading = json.dumps(dict(key), sort_keys=True)
    kept = _kept(file, heading)
    write_lines(file, [heading, *map(json.dumps, kept)])
    places = count()
    by_step: list[list[TrainingSequence]] = []
    trainer.adapted.eval()
    with file.open("a", encoding="utf-8") as lines:

        def with_kept(sequence: TrainingSequence) -> TrainingSequence:
            if (place := next(places)) < len(kept):
                drafts, leads = kept[place]
                return replace(sequence, drafts=tuple(map(tuple, drafts)), leads=tuple(leads))
            drawn = with_drafts(trainer.model, sequence, seed * 1_000_003 + place)
            lines.write(json.dumps([drawn.drafts, drawn.leads]) + "\n")
            lines.flush()
            return drawn

        for step in range(steps):
            read = sequences(step)
            by_step.append([with_kept(sequence) if sequence.source in _SPOKEN else sequence for sequence in read])
            report(Activity(f"drafts for step {step + 1} of {steps}", (step + 1) / steps))
    trainer.adapted.train()
    return by_step.__getitem__


def _kept(file: Path, heading: str) -> list[tuple[list[list[int]], list[float]]]:
    """Return the drafts and leads that a file has, if it has this heading."""
    try:
        first, *lines = file.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError):
        return []
    # The last line is empty, or was cut by a kill.
    return [json.loads(line) for line in lines[:-1]] if first == heading else []
