"""Steps of an utterance: its prompt is varied and pruned, the line is drawn, judged and revised. Source: APP."""
