"""Pipelines of GitLab, made from what a system can run."""
