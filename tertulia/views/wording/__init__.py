"""Records put in words, for any reader: a terminal, a transcript, a page."""
