"""systems/*.yaml: the fields of a cluster's file, and how it is read."""
