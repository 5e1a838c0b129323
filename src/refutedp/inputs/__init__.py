"""Which inputs to try: adjacent pairs from patterns, arguments from symbolic execution."""
