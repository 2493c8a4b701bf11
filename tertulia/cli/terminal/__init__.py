"""The terminal: consoles, text that can be printed, options and messages as a user typed them."""
