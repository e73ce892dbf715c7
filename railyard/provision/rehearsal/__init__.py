"""A cluster rehearsed on one machine: nodes and Slurm as its file declares them, stand-ins in place of benchmarks."""
