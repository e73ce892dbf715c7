"""The path proof: which way the bytes of a run went."""
