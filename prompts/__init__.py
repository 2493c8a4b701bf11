"""Prompts as data: templates, blocks and units, assembling, removing, rendering. Knows no model.

* Prompts by task: `assemble` (an utterance), `cognition`, `choices`, `judge`, `revise`, `ending`, `album`, `town`,
  `annotation`.
* From blocks to tokens: `units`, `render`; changes of a prompt between: `remove`, `vary`, `renaming`.
* Wording: `templates`, `examples`, `translations`, `names`, `attendance`.
* Replies: `shape` asks for their form, `placeholders` recognizes texts that only repeat it.
"""
