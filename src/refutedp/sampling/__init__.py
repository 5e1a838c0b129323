"""Run a mechanism many times on one input; every way of running gives samples of the same distribution."""
