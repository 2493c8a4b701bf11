"""Steps of a group chat: cognition, willingness, and the giving of the floor. Source: ChatAgents."""
