"""Checks within a minute whether one node is fit for jobs: before, after or beside a job."""
