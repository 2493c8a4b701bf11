"""Ways to think that an agent may switch on: one file per mechanism, and one registry. Source: ChatAgents App. A."""
