"""The checkpointed records, and the contracts that every other room shares. Knows no other room.

* Records: `records`, `cognition`, `meeting`, `album`, `town`, `annotation`, `experiment`; `graph_state` has the values
  that graphs carry, `seat` the view and the answers of a person at the table.
* Parameters: `parameters/`, and the values that they take: `blocks`, `variation`, `languages`, `case_seed`, `setpoint`.
* Contracts: `language_model`, `questions`, `store`, and `context`, which hands them to nodes.
* Rules that several rooms share: `randomness`, `recall`, `words`, `text`, `files`, `documents`, `errors`.
"""
