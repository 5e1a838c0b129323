"""Lifted execution: one call of an ordinary scalar function simulates n runs."""
