"""Checks a job's own nodes within a stated time, inside the job and before its application: who is sick, if anybody."""
