"""Performance, as ratios taken in one run: the machine is shared and noisy, absolute times say little."""
