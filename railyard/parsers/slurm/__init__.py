"""Records of Slurm as typed values: what it says about jobs and nodes."""
