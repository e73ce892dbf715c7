"""Exit codes by which a job of ours says why it ended before its benchmark ran."""

#: A node is unfit, an executable or an input is another one than was meant (BSD's EX_NOINPUT).
UNFIT_EXIT = 66
