"""Benchmarks that Spack builds: one environment per (system, stack), built once, proven to be what it says."""
