"""Language models, attention scores, constrained decoding and embedders; the only room that imports torch.

* `loading`: from a name to a model; `embedded`, `hub`: where its files come from.
* `causal`: local models, on `decoding_state`, `row_groups` and `attention` (keys, values, captured attention),
  `attention_scores` (Eq. 1), `decoding` and `grammar` (sampling of JSON replies), `kept_prompts`, `distinct_questions`,
  `tokenizer`.
* `chat`: remote models, on `chat_names`, `remote_requests`, `answer_limits`, `chat_errors` and `repair`.
* `threads`: how the threads of torch wait, set before any module here imports it. `platforms`: where a model computes.
* `rehearsal`: a stand-in without weights. `embedder`: sentence embeddings.
* `batching`, `journal`: calls of a run, made in batches, stored, and never made twice.
"""

from tertulia.models.local.threads import wait_passively

wait_passively()
