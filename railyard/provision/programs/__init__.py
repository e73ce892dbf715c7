"""Railyard's own MPI programs, in C: package data, compiled by ``build`` with a stack's compiler."""
