"""Steps of an album chat: the pairs, and the questions about pictures."""
