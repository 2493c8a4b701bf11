"""Steps of an utterance: its prompt is varied and pruned, what is said is drawn, judged and revised. Source: APP."""
