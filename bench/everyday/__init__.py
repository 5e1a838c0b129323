"""Mechanisms in everyday styles, for `bench.lifting`: some private, some not; all are what people write."""
