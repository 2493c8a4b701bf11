"""What is checkpointed, and the contracts that every other room shares. Knows no other room."""
