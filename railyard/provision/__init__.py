"""What must be there before a run: MPI prefixes, Spack's environments, the virtual cluster, recordings."""
