"""What steps share, and no step: asking a model, who heard what, retrieving memories, λ of a turn, when it is over."""
