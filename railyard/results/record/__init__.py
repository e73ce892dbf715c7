"""One line of records.jsonl: its form, its file, and its masking."""
