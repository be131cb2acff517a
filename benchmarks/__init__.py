"""How fast the library is, as ratios measured in one run: `python -m benchmarks`, or `make bench`."""
