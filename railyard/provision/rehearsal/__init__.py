"""A site's own cluster, rehearsed on one machine: nodes and Slurm as its file declares them, benchmarks stood in for."""
