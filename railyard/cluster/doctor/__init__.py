"""What is wrong with a set-up before any job runs: facts of the login host and of the nodes, and what they mean."""
