"""The stored record, and all that is made of records."""
