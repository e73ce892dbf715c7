"""What all other packages build on: errors, text, strict YAML, JSON, paths and bounds. It has no domain objects."""
