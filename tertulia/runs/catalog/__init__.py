"""What there is to choose from: scenarios, settings, nodes, graphs."""
