"""Mechanisms in everyday styles, for `bench.lifting`: some are private and some are not; all are what people write."""
