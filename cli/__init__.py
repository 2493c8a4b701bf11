"""Commands; the only room that reads the environment and writes to the terminal."""
