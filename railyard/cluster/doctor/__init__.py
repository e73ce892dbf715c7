"""Finds what is wrong with a set-up before any job runs: asks the login host and the nodes; judges the answers."""
