"""systems/*.yaml: what a cluster's file may say, and the reading of it."""
