"""Provides what a run needs: MPI prefixes, Spack's environments, the virtual cluster, recordings."""
