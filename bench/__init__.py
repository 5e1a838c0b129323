"""What is measured: `python -m bench` prints every table, `python -m bench.bounds` one of them."""
