"""Catalogs to choose from: scenarios, settings, nodes, graphs."""
