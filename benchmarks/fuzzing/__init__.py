"""The parts of benchmarks/fuzz.py: its samples, its mutations, the rules that must hold, and its counts."""
