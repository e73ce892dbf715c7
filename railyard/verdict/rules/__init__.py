"""The five rules of a verdict, one module each, over the same inputs."""
