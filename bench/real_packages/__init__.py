"""Real packages, each in an environment of its own: what to install stands in each file, true output in docs."""
