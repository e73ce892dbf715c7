"""The results of all runs of a site: the files of records are the truth, and a disposable index gives fast answers."""
