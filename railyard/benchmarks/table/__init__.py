"""The tables of benchmarks: a new benchmark is one entry here."""
