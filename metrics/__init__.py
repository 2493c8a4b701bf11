"""Measures of dialogues. Knows only the records and contracts of `state`: no model, no store."""
