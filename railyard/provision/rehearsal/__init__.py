"""A cluster rehearsed on one machine: nodes and scheduler as its file declares them, and stand-ins for benchmarks."""
