"""From what a user asks for to a run that can be driven: begun, forked, reopened, with its seats."""
