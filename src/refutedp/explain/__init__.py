"""Which line breaks the claim, and what would mend it: told of a counterexample that is already confirmed."""
