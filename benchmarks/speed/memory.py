"""Peak memory that a way of scoring adds to plain generation; each way in a separate process."""

import random
import subprocess
import sys
from pathlib import Path
from typing import Any

RESPONSE = 60


def added_by(way: str, length: int, precision: str) -> float:
    """Return the peak memory in MB that a way of scoring adds, at least 0.

    Args:
        way: `ours`, or `eager` (the definition on the full attention tensors).
        length: Tokens of the prompt.
        precision: Of the weights.
    """
    command = [sys.executable, "-m", "benchmarks.speed.memory", way, str(length), precision]
    plain, peak = map(float, subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-2:])
    return max(0.0, peak - plain)


def _main(way: str, length: int, precision: str) -> None:
    from tertulia.cli.environment import cache_folder
    from tertulia.models.loading import open_model
    from tertulia.models.local import embedded
    from tertulia.models.local.attention_scores import attention_by_definition
    from tertulia.models.local.causal import CausalLanguageModel
    from tertulia.models.local.decoding_state import DecodingState, prefill

    # Its folder, so that transformers opens it, which has the definition.
    named = f"{embedded.folder(cache_folder())}+{embedded.VOICE}"
    opened = open_model(named, cache=cache_folder(), precision=precision)  # type: ignore[arg-type]
    assert isinstance(opened, CausalLanguageModel)
    model: Any = opened.model
    words = random.Random(1)
    prompt = [words.randrange(100, 40_000) for _ in range(length)]
    responses = [[words.randrange(100, 40_000) for _ in range(RESPONSE)] for _ in range(3)]

    def decode(capture: bool) -> None:
        state = DecodingState(model, prefill(model, prompt), 3, RESPONSE, capture=capture)
        state.forward([[prompt[-1]]] * 3)
        for step in range(RESPONSE - 1):
            state.forward([[response[step]] for response in responses])

    decode(capture=False)  # what is allocated only once is not measured
    _reset_peak()
    decode(capture=False)
    plain = _peak_mb()
    _reset_peak()
    if way == "eager":
        for response in responses:
            attention_by_definition(model, prompt, response)
    else:
        decode(capture=True)
    print(plain, _peak_mb())


def _reset_peak() -> None:
    """Reset the peak of resident memory (Linux: proc_pid_clear_refs(5))."""
    Path("/proc/self/clear_refs").write_text("5")


def _peak_mb() -> float:
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


if __name__ == "__main__":
    _main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
