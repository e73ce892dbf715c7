"""One line of records.jsonl: its form, its file, its schema, and what is masked in it."""
