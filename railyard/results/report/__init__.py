"""Reports of a run, made from its stored records alone: table, page, Markdown, JUnit XML, JSON, CSV."""
