"""Cost of a step of the embedded model: `python -m benchmarks.step [PRECISION ...]`, CPU milliseconds with one thread.

Rows continue prompts of 1,600 tokens with random keys and values: what a step costs does not depend on them.
`6 + 6` are the drafts of the embedded model's voice behind two prompts.
"""

import statistics
import sys
import time

import torch

from benchmarks.utterance import short
from tertulia.cli.environment import cache_folder
from tertulia.models.loading import device_and_dtype, open_model
from tertulia.models.local.architecture import Model, layers_of
from tertulia.models.local.causal import CausalLanguageModel
from tertulia.models.local.decoding_state import DecodingState, prefill
from tertulia.models.local.prefix import Prefix

LENGTH, STEPS = 1600, 14


def prefix_of(model: Model, seed: int) -> Prefix:
    """Return a prompt that was not read: its keys and values are random."""
    generator = torch.Generator().manual_seed(seed)
    prefix, read = Prefix([5] * (LENGTH + 1), layers_of(model)), prefill(model, [5, 5])
    heads, _, size = read.keys[0].shape
    shape = heads, LENGTH, size
    for tensors in (prefix.keys, prefix.values):
        tensors[:] = [torch.randn(shape, generator=generator).to(model.dtype) for _ in tensors]
    prefix.length = LENGTH
    return prefix


def step_ms(model: Model, rows: list[Prefix], *, capture: bool) -> float:
    """Return the median CPU milliseconds of a step of these rows."""
    state = DecodingState(model, rows, 1, STEPS + 2, capture=capture)
    spent = []
    for token in range(STEPS + 2):
        start = time.process_time()
        state.next_logits([[token + 7]] * len(state.lengths))
        spent.append(1e3 * (time.process_time() - start))
    return statistics.median(spent[2:])


def main(precisions: list[str]) -> None:
    """Print a line for each precision."""
    torch.set_num_threads(1)
    for precision in precisions:
        opened = open_model("smollm2", cache=cache_folder(), precision=precision)  # type: ignore[arg-type]
        assert isinstance(opened, CausalLanguageModel)
        model = opened.model
        first, second = (prefix_of(model, seed) for seed in (1, 2))
        cases = {
            "1 row": ([first], False),
            "3 rows, captured": ([first] * 3, True),
            "6 rows": ([first] * 6, False),
            "6 + 6 rows": ([first] * 6 + [second] * 6, False),
        }
        found = [f"{name} {step_ms(model, rows, capture=capture):.1f}" for name, (rows, capture) in cases.items()]
        print(f"{precision}, ms a step: {', '.join(found)}")


if __name__ == "__main__":
    main(sys.argv[1:] or [short(device_and_dtype("auto")[1])])
