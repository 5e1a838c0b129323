"""Arguments by symbolic execution: values that make the two runs of a pair diverge, found by Z3."""
