"""Which events the outputs allow, and which of them best shows a violation."""
