"""Teaching a local model to talk: from scenes, scenarios with lines, or stored runs to adapters (`tertulia tune`)."""
