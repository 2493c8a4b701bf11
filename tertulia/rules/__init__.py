"""Rules by word lists of a language, as extensions: written with the public API alone."""
