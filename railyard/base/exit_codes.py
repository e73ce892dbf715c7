"""Exit codes with which our jobs say why they ended before their benchmark ran."""

#: A node is unfit, or an executable or an input is not the intended one (BSD's EX_NOINPUT).
UNFIT_EXIT = 66
