"""Records of Slurm as typed values: what it says of jobs and of nodes."""
