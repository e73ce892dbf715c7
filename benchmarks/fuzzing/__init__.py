"""The parts of benchmarks/fuzz.py: what it begins from, what it changes, what must hold, and what it counts."""
