"""Training low-rank adapters (Hu et al. 2021, LoRA) on frozen weights, by `peft`.

1. Sequences are read one by one, `batch` of them a step: no padding, so memory is that of the longest.
2. Only positions before a learned token reach the vocabulary: `(L, V)` logits and not `(T, V)`.
3. The adapters compute in the precision of the weights; the optimiser moves float32 copies of them.
4. Of graded drafts the good ones are learned, and better ones preferred to worse ones (`preferences.py`).
5. A checkpoint has these copies, the optimiser's moments and the step; the order of sequences follows from the seed,
   so that a killed training resumes to the digit.

Knows nothing of prompts or scenes.
"""

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import PreTrainedModel

from tertulia.models.tuning.likelihoods import token_log_probabilities
from tertulia.models.tuning.preferences import preference_loss
from tertulia.models.tuning.sequence import GOOD, TrainingSequence
from tertulia.state.errors import ModelError
from tertulia.state.written_files import replacing

#: Seconds between two checkpoints.
_CHECKPOINT_S = 60.0

#: The share of steps in which the learning rate rises, and the share of it that is left at the end.
_WARM_UP, _LAST_RATE = 0.04, 0.05

_STATE, _TENSORS = "training.json", "training.safetensors"


@dataclass(frozen=True)
class TuningOptions:
    """The options of a training; the scale of the adapters is `alpha / rank`, and a batch the sequences of a step.

    The learning rate is the highest: it rises, and falls along a cosine. The seed determines the order of sequences,
    the units that are removed from them, and the adapters' first values.
    """

    rank: int = 16
    alpha: int = 32
    learning_rate: float = 6e-4
    batch: int = 8
    steps: int = 100
    seed: int = 1


@dataclass(frozen=True)
class Progress:
    """The progress of a training: steps done, of all; mean loss of the last, in nats per token; and seconds left."""

    step: int
    steps: int
    loss: float
    left_s: float


#: Returns the sequences of a step, from 0.
Sequences = Callable[[int], Sequence[TrainingSequence]]


@dataclass
class Trainer:
    """A training of a model's adapters.

    Attributes:
        model: The model with the weights that stay as they are.
        folder: The folder of checkpoints while it goes on.
        key: The properties that a checkpoint must share to be gone on from: the data, the model, the options.
        start: The matrices that the adapters begin with, by layer: `(r, in)` and `(out, r)`; if empty, fresh ones.
    """

    model: PreTrainedModel
    options: TuningOptions
    folder: Path
    key: Mapping[str, Any]
    start: Mapping[str, tuple[Tensor, Tensor]] = field(default_factory=dict)
    losses: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Put fresh adapters onto the model."""
        from peft import LoraConfig, get_peft_model

        options = self.options
        torch.manual_seed(options.seed)
        config = LoraConfig(
            r=options.rank, lora_alpha=options.alpha, target_modules="all-linear", lora_dropout=0.0, bias="none"
        )
        # A wrong type here is peft's: it takes any transformers model.
        self.adapted = get_peft_model(self.model, config, autocast_adapter_dtype=False)
        self.adapted.train()
        named = {name: weight for name, weight in self.adapted.named_parameters() if weight.requires_grad}
        self._weights = {name: named[name] for name in sorted(named)}
        self._copies = {name: weight.detach().float().clone() for name, weight in self._weights.items()}
        for layer, matrices in self.start.items():
            for side, matrix in zip("AB", matrices, strict=True):
                self._copies[f"base_model.model.{layer}.lora_{side}.default.weight"].copy_(matrix)
        self._write_back()
        self._optimiser = torch.optim.AdamW(self._copies.values(), lr=options.learning_rate, weight_decay=0.0)

    def train(self, sequences: Sequences, report: Callable[[Progress], None]) -> None:
        """Train from the last checkpoint, or from the beginning, to the end.

        Raises:
            ModelError: The memory does not suffice, the disk is full, or the loss is no number.
        """
        first = self._load()
        started = saved = time.monotonic()
        for step in range(first, self.options.steps):
            self.losses.append(self._step(step, sequences(step)))
            now = time.monotonic()
            left_s = (now - started) / (step + 1 - first) * (self.options.steps - step - 1)
            report(Progress(step + 1, self.options.steps, self.losses[-1], left_s))
            if now - saved > _CHECKPOINT_S or step + 1 == self.options.steps:
                self._save(step + 1)
                saved = time.monotonic()

    @torch.no_grad()
    def loss(self, sequences: Sequence[TrainingSequence]) -> float:
        """Return the mean loss over the learned tokens of sequences, in nats a token."""
        self.adapted.eval()
        try:
            total = sum(float(self._losses(sequence)[0]) for sequence in sequences)
        finally:
            self.adapted.train()
        return total / max(1, sum(sequence.count for sequence in sequences))

    def save_adapter(self, folder: Path, about: Mapping[str, Any]) -> None:
        """Write the adapters to a folder as safetensors in bfloat16, with their configuration in peft's form."""
        tensors = {_name_in_file(name): copy.to(torch.bfloat16).contiguous() for name, copy in self._copies.items()}
        written = {
            "peft_type": "LORA",
            "r": self.options.rank,
            "lora_alpha": self.options.alpha,
            "target_modules": sorted({name.split(".")[-3] for name in tensors}),
            "bias": "none",
            "task_type": "CAUSAL_LM",
            "base_model_name_or_path": about.get("base"),
            "tertulia": dict(about),
        }
        folder.mkdir(parents=True, exist_ok=True)
        _write_tensors(folder / "adapter_model.safetensors", tensors)
        _write_text(folder / "adapter_config.json", json.dumps(written, indent=2, sort_keys=True) + "\n")

    def _step(self, step: int, sequences: Sequence[TrainingSequence]) -> float:
        count = sum(sequence.count for sequence in sequences)
        for group in self._optimiser.param_groups:
            group["lr"] = self.options.learning_rate * rate_at(step, self.options.steps)
        total = 0.0
        for sequence in sequences:
            try:
                learned, preferred = self._losses(sequence)
                loss = learned / max(1, count) + preferred / len(sequences)
                torch.autograd.backward(loss)
            except (RuntimeError, MemoryError) as error:
                if "memory" not in str(error).lower() and not isinstance(error, MemoryError):
                    raise
                raise ModelError(
                    f"not enough memory for a sequence of {len(sequence.tokens)} tokens; set a lower --longest"
                ) from error
            total += float(loss.detach())
        if not math.isfinite(total):
            raise ModelError(f"the loss of step {step + 1} is {total}; train with a lower --learning-rate")
        for name, weight in self._weights.items():
            self._copies[name].grad = None if weight.grad is None else weight.grad.float()
            weight.grad = None
        torch.nn.utils.clip_grad_norm_(self._copies.values(), 1.0)
        self._optimiser.step()
        self._write_back()
        return total

    def _losses(self, sequence: TrainingSequence) -> tuple[Tensor, Tensor]:
        """Return the summed loss of the learned tokens of a sequence, and that of its preferences."""
        spans, drafts = token_log_probabilities(self.model, sequence)
        good = [logs for draft, logs in zip(sequence.drafts, drafts, strict=True) if draft.grade == GOOD]
        learned = -torch.cat([*spans, *good, torch.zeros(0, device=self.model.device)]).sum()
        preferred = preference_loss(sequence.drafts, drafts) if drafts else torch.zeros_like(learned)
        return learned, preferred

    @torch.no_grad()
    def _write_back(self) -> None:
        for name, weight in self._weights.items():
            weight.copy_(self._copies[name])

    def _save(self, step: int) -> None:
        tensors = {f"weight {name}": copy for name, copy in self._copies.items()}
        for name, copy in self._copies.items():
            for moment in ("exp_avg", "exp_avg_sq"):
                tensors[f"{moment} {name}"] = self._optimiser.state[copy][moment]
        self.folder.mkdir(parents=True, exist_ok=True)
        _write_tensors(self.folder / f"{step}-{_TENSORS}", tensors)
        state = {"step": step, "key": dict(self.key), "options": asdict(self.options), "losses": self.losses}
        _write_text(self.folder / _STATE, json.dumps(state))
        for old in self.folder.glob(f"*-{_TENSORS}"):
            if old.name != f"{step}-{_TENSORS}":
                old.unlink(missing_ok=True)

    def _load(self) -> int:
        """Return the step to go on with: that of the checkpoint, if there is one of this training."""
        try:
            state = json.loads((self.folder / _STATE).read_text(encoding="utf-8"))
            if (state["key"], state["options"]) != (json.loads(json.dumps(dict(self.key))), asdict(self.options)):
                return 0
            step = int(state["step"])
            tensors = load_file(self.folder / f"{step}-{_TENSORS}")
        except (OSError, ValueError, KeyError, TypeError, SafetensorError):
            return 0
        for name, copy in self._copies.items():
            copy.copy_(tensors[f"weight {name}"])
            self._optimiser.state[copy] = {
                "step": torch.tensor(float(step)),
                **{moment: tensors[f"{moment} {name}"].clone() for moment in ("exp_avg", "exp_avg_sq")},
            }
        self.losses = [float(loss) for loss in state["losses"]]
        self._write_back()
        return step


def rate_at(step: int, steps: int) -> float:
    """Return the share of the highest learning rate in a step: rising at first, then falling along a cosine."""
    warm = max(1, round(_WARM_UP * steps))
    if step < warm:
        return (step + 1) / warm
    done = (step - warm) / max(1, steps - warm)
    return _LAST_RATE + (1 - _LAST_RATE) * 0.5 * (1 + math.cos(math.pi * done))


def _name_in_file(name: str) -> str:
    return name.replace(".default.", ".")


def _write_tensors(file: Path, tensors: dict[str, Tensor]) -> None:
    _replacing(file, lambda part: save_file({name: tensor.cpu() for name, tensor in tensors.items()}, part))


def _write_text(file: Path, text: str) -> None:
    _replacing(file, lambda part: part.write_text(text, encoding="utf-8"))


def _replacing(file: Path, write: Callable[[Path], object]) -> None:
    """Write a file under another name and move it to its place, so that it is there whole or not at all."""
    try:
        with replacing(file) as part:
            write(part)
    except (OSError, SafetensorError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ModelError(
            f"{file} can't be written ({reason}); free room there, and run the same command again"
        ) from error
