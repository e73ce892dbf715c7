"""Reports of a run, made from its stored records alone: table, page, JUnit XML, JSON."""

from railyard.report.files import Results, read_results, write_report, write_reports, written

__all__ = ["Results", "read_results", "write_report", "write_reports", "written"]
