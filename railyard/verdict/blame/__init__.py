"""Who is to blame for a failure: rails and nodes, by what was measured again."""
