"""What steps share, and no step: when a conversation is over, how memories are retrieved, λ of a turn."""
