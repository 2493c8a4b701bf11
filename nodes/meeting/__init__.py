"""Steps of a group chat: cognition, willingness, and who is given the floor. Source: ChatAgents."""
