"""What is checkpointed, and the contracts that every other room shares. Knows no other room.

* Records: `records`, `cognition`, `meeting`, `album`, `town`, `annotation`, `experiment`; what graphs carry is in
  `graph_state`, what a person at the table sees and answers in `seat`.
* Parameters: `parameters/`, and the values that they take: `blocks`, `variation`, `languages`, `case_seed`, `setpoint`.
* Contracts: `language_model`, `questions`, `store`, and `context`, which hands them to nodes.
* Rules that several rooms share: `randomness`, `recall`, `words`, `text`, `files`, `documents`, `errors`.
"""
