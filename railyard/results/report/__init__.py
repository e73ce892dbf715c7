"""Reports of a run, made only from its stored records: table, page, Markdown, JUnit XML, JSON, CSV."""
