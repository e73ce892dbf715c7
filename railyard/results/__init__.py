"""The stored record, and everything that is made from records."""
