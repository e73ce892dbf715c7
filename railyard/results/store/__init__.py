"""The results of all runs of a site: files of records are the truth, an index that may be thrown away answers fast."""
