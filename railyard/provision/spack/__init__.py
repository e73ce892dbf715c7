"""Benchmarks that Spack builds: one environment a (system, stack), built once, proven to be what it says."""
