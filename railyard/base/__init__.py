"""What every other package stands on: errors, text, strict YAML, JSON, paths and bounds; no object of the domain."""
