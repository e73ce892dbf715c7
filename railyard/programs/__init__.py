"""Railyard's own MPI programs, in C: package data, compiled by ``railyard.programs.build`` with a stack's compiler."""
