"""The hypothesis tests: p-values, e-processes, certified bounds, scores of events."""
