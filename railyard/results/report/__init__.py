"""Reports of a run, made from its stored records alone: table, page, Markdown, JUnit XML, JSON, CSV."""

from railyard.results.report.files import Results, read_many, read_results, write_report, write_reports, written

__all__ = ["Results", "read_many", "read_results", "write_report", "write_reports", "written"]
