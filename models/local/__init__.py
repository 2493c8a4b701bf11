"""Models with weights on this machine: attention, scores, decoding by grammar, embedders."""
