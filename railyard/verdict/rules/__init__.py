"""The five rules of a verdict over the same inputs: three of the run itself, two of its figures."""
