"""Shell scripts that run in a job, as package data."""
