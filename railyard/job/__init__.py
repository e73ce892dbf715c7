"""What runs on nodes: the words of a launch, scripts, and the readers of what they leave."""
