"""One line of records.jsonl: its form, its file, and what is masked in it."""
