"""The same meeting and the same dialogue held by Tertulia and by its neighbours: `python -m benchmarks.peers`."""
