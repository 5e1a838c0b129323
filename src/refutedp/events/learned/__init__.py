"""Events that several coordinates show together, learned from search runs: counts and sums of conditions."""
