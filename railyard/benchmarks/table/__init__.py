"""The tables of benchmarks. A new benchmark is one entry here."""
