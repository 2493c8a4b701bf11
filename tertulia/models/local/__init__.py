"""Models with weights on this machine: attention, scores, decoding by grammar, embedders.

* Models: `causal` (any model of transformers), `embedded` (the shipped one), `embedder`, `picture_finder`.
* Loading: `hub`, `adapters`, `packed_linear`, `platforms`, `threads`.
* Prompts in memory: `prefix`, `kept_prompts`, `kept_chunks`.
* Decoding: `decoding`, `decoding_state`, `row_groups`, `grammar`, `tokenizer`.
* Attention: `attention`, `attention_scores`.
* Pictures: `sight`, `seeing_parts`.
"""
