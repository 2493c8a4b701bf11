"""Shared by steps, and no step: asking a model, hearing, retrieving memories, λ of a turn, when it is over."""
