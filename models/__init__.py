"""Language models, attention scoring, constrained decoding, embedders; the only room that imports torch."""
