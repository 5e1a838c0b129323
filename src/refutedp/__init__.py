"""RefuteDP finds counterexamples to differential-privacy claims."""
