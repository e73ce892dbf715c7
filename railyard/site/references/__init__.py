"""references/*.yaml: what a system should give, with its sources, relations and checks."""
