"""A cluster rehearsed on one machine: nodes and Slurm as its file declares them, and stand-ins for the benchmarks."""
