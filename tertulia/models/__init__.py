"""Language models, attention scores, constrained decoding and embedders; the only room that imports torch.

* `loading`: from a name to a model. `rehearsal`: a stand-in without weights.
* `local/`: models of this machine, with captured attention, decoding by grammar, embedders and adapters.
* `served/`: models of servers. `tuning/`: training of adapters.
* `batching`, `cohort`, `distinct_questions`, `journal`: calls of runs, made in batches, stored, and never made twice.
* `ray_scoring`: scores by actors of a cluster. `picture_bytes`: pictures as models take them.
"""

from tertulia.models.local.threads import wait_passively

wait_passively()
