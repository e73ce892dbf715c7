"""Whether one node is fit for jobs: looked at within a minute, before or after a job or beside one."""
