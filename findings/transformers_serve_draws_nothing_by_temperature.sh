#!/usr/bin/env bash
# transformers serve 5.23.0: `temperature`, `top_p` and `seed` of a chat completion change nothing, unless the model's
# own files say `do_sample`.
#
# Guess: a request with temperature 2 is sampled at temperature 2, as OpenAI's protocol has it, and as vLLM and
# llama.cpp's server do. Seen: status 200 and the greedy answer, whatever the temperature and the seed: the server sets
# the temperature of the generation config and leaves `do_sample` false. With the field
# `"generation_config": "{\"do_sample\": true, …}"`, a string of JSON, it draws. Output seen, as is checked below:
#   kinds of answers to 20 seeds at temperature 2: 1, with do_sample: 20
# (torch is of any build; that for processors alone is the smallest.)
set -euo pipefail
folder=$(mktemp -d)
server=""
trap '[ -z "$server" ] || kill "$server" 2> "$folder/null"; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  torch==2.13.0 transformers==5.23.0 fastapi==0.165.0 uvicorn==0.54.0 openai==3.54.0 accelerate==1.15.0 opentelemetry-api==1.45.2
cat > "$folder/make.py" << 'PYTHON'
import sys

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

words = {word: number for number, word in enumerate(["[unk]", "[end]", *(f"w{n}" for n in range(62))])}
raw = Tokenizer(models.WordLevel(words, unk_token="[unk]"))
raw.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, unk_token="[unk]", eos_token="[end]", pad_token="[end]")
tokenizer.chat_template = "{% for message in messages %}{{ message['content'] }} {% endfor %}"
torch.manual_seed(1)
config = LlamaConfig(
    vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
    eos_token_id=1, bos_token_id=1, pad_token_id=1,
)
LlamaForCausalLM(config).save_pretrained(sys.argv[1])
tokenizer.save_pretrained(sys.argv[1])
PYTHON
cat > "$folder/ask.py" << 'PYTHON'
import json
import sys
import time
import urllib.request

address, model = sys.argv[1:]


def post(**body):
    asked = {"model": model, "messages": [{"role": "user", "content": "w1 w2 w3"}], "max_tokens": 4, **body}
    request = urllib.request.Request(
        f"{address}/v1/chat/completions", json.dumps(asked).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.load(answer)["choices"][0]["message"]["content"]


for _ in range(120):
    try:
        urllib.request.urlopen(f"{address}/health", timeout=5)
        break
    except OSError:
        time.sleep(1)
as_asked = {post(temperature=2.0, top_p=1.0, seed=seed) for seed in range(20)}
drawing = json.dumps({"do_sample": True, "temperature": 2.0, "top_p": 1.0, "top_k": 0})
configured = {post(generation_config=drawing, seed=seed) for seed in range(20)}
print(f"kinds of answers to 20 seeds at temperature 2: {len(as_asked)}, with do_sample: {len(configured)}")
assert len(as_asked) == 1 < 10 <= len(configured), "this has changed"
PYTHON
export HF_HUB_OFFLINE=1 HF_HOME="$folder/home"
mkdir "$folder/home" "$folder/model"
"$folder/venv/bin/python" "$folder/make.py" "$folder/model" > "$folder/log" 2>&1 || { tail -5 "$folder/log"; exit 1; }
port=$("$folder/venv/bin/python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$folder/venv/bin/transformers" serve --device cpu --host 127.0.0.1 --port "$port" "$folder/model" > "$folder/log" 2>&1 &
server=$!
"$folder/venv/bin/pip" list --disable-pip-version-check 2> "$folder/null" | grep -E "^(torch|transformers) "
"$folder/venv/bin/python" "$folder/ask.py" "http://127.0.0.1:$port" "$folder/model" || { tail -5 "$folder/log"; exit 1; }
