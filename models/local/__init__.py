"""Models whose weights are on this machine: attention, scores, decoding by grammar, embedders."""
